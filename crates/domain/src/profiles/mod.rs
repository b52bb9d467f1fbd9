//! Backend profiles: which agent a runner starts, and how the agent reaches its model.
//!
//! The server writes a profile to `profile.toml` in a directory named after it, and the runner reads it. It contains no
//! secret: the credential is a separate file, and the profile names the environment variable for it.

pub mod agent_package;
pub mod git_credential;
mod stored;
pub mod template;
pub mod validation;

pub use stored::{ProfileOwner, StoredProfile};

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Kind of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    Codex,
    /// Any agent that supports the Agent Client Protocol.
    Acp,
    /// A script, without an agent or a model.
    Script,
}

/// API of the model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    Responses,
    Chat,
}

/// A backend profile: the content of `profile.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub backend: BackendKind,
    /// The model. By default the agent chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's URL. By default the agent chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_api: Option<WireApi>,
    /// The environment variable that passes the credential to the agent.
    #[serde(default = "Profile::default_env_key")]
    pub env_key: String,
    /// The program of an ACP agent and its arguments. It runs code on the runner's machine, so only operators can set
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Additional environment variables of an ACP agent. Must not contain secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Files in the home directory of an ACP agent, by relative path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// Why a profile is invalid. The input is not repeated, because it may contain a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("invalid profile: syntax error or unknown field in line {0}")]
    Line(usize),
    #[error("invalid model name: use 1 to 128 printable ASCII characters without spaces")]
    Model,
    #[error("invalid base URL: use http:// or https:// without user, query or spaces")]
    BaseUrl,
    #[error("the codex backend supports only the wire API `responses`")]
    WireApi,
    #[error("invalid env_key: use upper-case letters, digits and underscores, ending in _KEY or _TOKEN")]
    EnvKey,
    #[error(
        "invalid command: an acp profile requires 1 to 32 arguments, the first an absolute path or a program name; \
         other backends have no command"
    )]
    Command,
    #[error(
        "invalid env or settings: only for acp profiles, with variable names and paths inside the agent's home"
    )]
    EnvOrSettings,
}

impl Profile {
    pub const DEFAULT_ENV_KEY: &'static str = "OPENAI_API_KEY";

    /// The default providers of agents.
    pub const OPENAI_URL: &'static str = "https://api.openai.com/v1";
    pub const ANTHROPIC_URL: &'static str = "https://api.anthropic.com/v1";
    pub const GEMINI_URL: &'static str = "https://generativelanguage.googleapis.com/v1beta";

    /// Returns the URL that requests of the agent go to. A script has no provider.
    #[must_use]
    pub fn provider_url(&self) -> Option<&str> {
        match (self.backend, &self.base_url) {
            (BackendKind::Script, _) => None,
            (BackendKind::Codex | BackendKind::Acp, Some(url)) => Some(url),
            (BackendKind::Acp, None) if self.env_key.starts_with("ANTHROPIC_") => Some(Self::ANTHROPIC_URL),
            (BackendKind::Acp, None) if self.env_key.starts_with("GEMINI_") => Some(Self::GEMINI_URL),
            (BackendKind::Codex | BackendKind::Acp, None) => Some(Self::OPENAI_URL),
        }
    }

    /// Returns the name of the agent's program.
    #[must_use]
    pub fn agent(&self) -> &str {
        let program = self.command.first().map_or("acp", String::as_str);
        match self.backend {
            BackendKind::Codex => "codex",
            BackendKind::Script => "script",
            BackendKind::Acp => {
                Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program)
            }
        }
    }

    /// Creates a profile with default values.
    #[must_use]
    pub fn new(backend: BackendKind) -> Self {
        Self {
            backend,
            model: None,
            base_url: None,
            wire_api: None,
            env_key: Self::default_env_key(),
            command: Vec::new(),
            env: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }

    /// Parses and validates the content of `profile.toml`.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            ProfileError::Line(before.matches('\n').count() + 1)
        })?;
        profile.validate()?;
        Ok(profile)
    }

    /// Returns the content of `profile.toml`.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Strings and lists and maps of strings always serialise.
        toml::to_string(self).unwrap_or_default()
    }

    /// Validates all fields.
    pub fn validate(&self) -> Result<(), ProfileError> {
        let ensure = |holds: bool, error: ProfileError| if holds { Ok(()) } else { Err(error) };
        let is_acp = self.backend == BackendKind::Acp;
        let uses_chat = self.wire_api == Some(WireApi::Chat);
        ensure(self.model.as_deref().is_none_or(is_model), ProfileError::Model)?;
        ensure(self.base_url.as_deref().is_none_or(is_base_url), ProfileError::BaseUrl)?;
        ensure(!(self.backend == BackendKind::Codex && uses_chat), ProfileError::WireApi)?;
        ensure(is_env_key(&self.env_key), ProfileError::EnvKey)?;
        ensure(is_command(&self.command) == is_acp, ProfileError::Command)?;
        ensure(is_acp || self.command.is_empty(), ProfileError::Command)?;
        let is_unset = self.env.is_empty() && self.settings.is_empty();
        let is_valid =
            self.env.keys().all(|name| is_variable(name)) && self.settings.keys().all(|path| is_inside(path));
        ensure(is_valid && (is_acp || is_unset), ProfileError::EnvOrSettings)
    }

    fn default_env_key() -> String {
        Self::DEFAULT_ENV_KEY.to_owned()
    }
}

fn is_model(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.chars().all(|c| c.is_ascii_graphic())
}

fn is_base_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_plain = |rest: &str| rest.chars().all(|c| c.is_ascii_graphic() && !"@?#\\".contains(c));
    text.len() <= 2048
        && rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && is_plain(rest))
}

/// No variable with such a name controls a program or the loader, so a tenant that sets it cannot run code.
fn is_env_key(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let has_valid_start = name.starts_with(|c: char| c.is_ascii_uppercase());
    name.len() <= 64
        && has_valid_start
        && name.bytes().all(plain)
        && (name.ends_with("_KEY") || name.ends_with("_TOKEN"))
}

fn is_command(arguments: &[String]) -> bool {
    let is_valid = |argument: &String| !argument.is_empty() && !argument.contains('\0');
    // A relative path could refer to a program in the workspace.
    let is_program = |argument: &String| argument.starts_with('/') || !argument.contains('/');
    (1..=32).contains(&arguments.len())
        && arguments.iter().all(is_valid)
        && arguments.first().is_some_and(is_program)
}

fn is_variable(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=64).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns whether a relative path stays inside its base directory.
fn is_inside(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\0', '\\']);
    path.len() <= 255 && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn profile_round_trips_through_toml() {
        let qwen = Profile {
            model: Some("qwen3-coder".to_owned()),
            base_url: Some("http://127.0.0.1:8000/v1".to_owned()),
            wire_api: Some(WireApi::Chat),
            command: vec!["qwen".to_owned(), "--acp".to_owned()],
            env: BTreeMap::from([("LANG".to_owned(), "C.UTF-8".to_owned())]),
            settings: BTreeMap::from([(".agent/settings.json".to_owned(), "{\"a\":\n\"b\"}".to_owned())]),
            ..Profile::new(BackendKind::Acp)
        };
        for profile in [qwen, Profile::new(BackendKind::Codex), Profile::new(BackendKind::Script)] {
            assert_eq!(Profile::parse(&profile.to_toml()), Ok(profile.clone()), "{}", profile.to_toml());
        }
    }

    #[test]
    fn profile_names_its_agent_and_its_provider() {
        for (text, expected) in [
            ("backend = \"codex\"", ("codex", Some(Profile::OPENAI_URL))),
            ("backend = \"codex\"\nbase_url = \"https://a/v1\"", ("codex", Some("https://a/v1"))),
            ("backend = \"acp\"\ncommand = [\"/opt/bin/qwen\"]", ("qwen", Some(Profile::OPENAI_URL))),
            (
                "backend = \"acp\"\ncommand = [\"x\"]\nenv_key = \"ANTHROPIC_API_KEY\"",
                ("x", Some(Profile::ANTHROPIC_URL)),
            ),
            (
                "backend = \"acp\"\ncommand = [\"x\"]\nenv_key = \"GEMINI_API_KEY\"",
                ("x", Some(Profile::GEMINI_URL)),
            ),
            ("backend = \"script\"", ("script", None)),
        ] {
            let profile = Profile::parse(text).expect(text);
            assert_eq!((profile.agent(), profile.provider_url()), expected, "{text}");
        }
    }

    #[test]
    fn minimal_profile_has_the_default_env_key() {
        let profile = Profile::parse("backend = \"codex\"").expect("a profile");
        assert_eq!(profile, Profile::new(BackendKind::Codex));
        assert_eq!(profile.env_key, "OPENAI_API_KEY");
    }

    #[test]
    fn invalid_profile_is_rejected_and_not_repeated() {
        use ProfileError::{BaseUrl, Command, EnvKey, EnvOrSettings, Line, Model};
        for (text, error) in [
            ("", Line(1)),
            ("backend = \"codex\"\nkey = \"sk-canary\"", Line(2)),
            ("backend = \"sk-canary\"", Line(1)),
            ("backend = \"codex\"\nmodel = \"a b\"", Model),
            ("backend = \"codex\"\nbase_url = \"ftp://a\"", BaseUrl),
            ("backend = \"codex\"\nbase_url = \"https://me:sk-canary@a/v1\"", BaseUrl),
            ("backend = \"codex\"\nbase_url = \"https://a/v1?key=sk-canary\"", BaseUrl),
            ("backend = \"codex\"\nwire_api = \"chat\"", ProfileError::WireApi),
            ("backend = \"acp\"", Command),
            ("backend = \"acp\"\ncommand = [\"./evil\"]", Command),
            ("backend = \"codex\"\ncommand = [\"sh\"]", Command),
            ("backend = \"script\"\ncommand = [\"\"]", Command),
            ("backend = \"codex\"\nenv = { LD_PRELOAD = \"x\" }", EnvOrSettings),
            ("backend = \"acp\"\ncommand = [\"a\"]\nenv = { \"A=B\" = \"x\" }", EnvOrSettings),
            ("backend = \"acp\"\ncommand = [\"a\"]\nsettings = { \"../evil\" = \"x\" }", EnvOrSettings),
            ("backend = \"acp\"\ncommand = [\"a\"]\nsettings = { \"/etc/evil\" = \"x\" }", EnvOrSettings),
            ("backend = \"codex\"\nenv_key = \"\"", EnvKey),
        ] {
            let actual = Profile::parse(text).expect_err(text);
            assert_eq!(actual, error, "{text}");
            assert!(!actual.to_string().contains("canary"), "{actual}");
        }
    }

    #[test]
    fn env_key_cannot_be_a_variable_that_controls_programs() {
        for name in
            ["PATH", "LD_PRELOAD", "NODE_OPTIONS", "BASH_ENV", "HOME", "CODEX_HOME", "key", "_KEY", "A-KEY"]
        {
            let text = format!("backend = \"codex\"\nenv_key = \"{name}\"");
            assert_eq!(Profile::parse(&text), Err(ProfileError::EnvKey), "{name}");
        }
        for name in ["OPENAI_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_AUTH_TOKEN", "K2_KEY"] {
            let text = format!("backend = \"codex\"\nenv_key = \"{name}\"");
            assert!(Profile::parse(&text).is_ok(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn special_characters_round_trip_through_toml(model in "[!-~]{1,128}", value in "\\PC{0,40}") {
            let profile = Profile {
                model: Some(model),
                command: vec!["x".to_owned(), format!("-{value}")],
                env: BTreeMap::from([("A".to_owned(), value.clone())]),
                settings: BTreeMap::from([("a/b".to_owned(), value)]),
                ..Profile::new(BackendKind::Acp)
            };
            prop_assert_eq!(Profile::parse(&profile.to_toml()), Ok(profile));
        }

        #[test]
        fn parsing_random_text_does_not_panic(text in "\\PC{0,200}") {
            let _read = Profile::parse(&text);
        }
    }
}
