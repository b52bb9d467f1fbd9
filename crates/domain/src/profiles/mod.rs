//! What a backend profile is: which agent a runner drives for it, and how the agent reaches its model.
//!
//! The server writes it and the runner reads it, as `profile.toml` in a folder of the profile's name. It holds no
//! secret: the credential is a file beside it, and the profile says under which name the agent finds it.

pub mod validation;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which backend drives the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    Codex,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    /// No agent and no model.
    Script,
}

/// How the agent speaks with its model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireApi {
    Responses,
    Chat,
}

/// A backend profile, as it stands in `profile.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub backend: BackendKind,
    /// The model; without it the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the provider answers; without it the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_api: Option<WireApi>,
    /// The name of the environment variable in which the agent finds its credential.
    #[serde(default = "Profile::default_env_key")]
    pub env_key: String,
    /// The program of an ACP agent and its arguments. Whoever sets it runs code where the runner is: it is the
    /// operator's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// What else stands in the environment of an ACP agent. Nothing secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Files that an ACP agent finds in its home, by their path there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// Why a text is no profile. Of the text itself nothing is repeated: somebody may have put a key into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("line {0} of the profile cannot be read")]
    Line(usize),
    #[error("a model's name has 1 to 128 printable letters and no space")]
    Model,
    #[error("a base URL begins with http:// or https:// and holds no user, no query and no space")]
    BaseUrl,
    #[error("codex speaks the wire API `responses` alone")]
    WireApi,
    #[error(
        "the name of a credential is of upper-case letters, digits and underscores and ends in _KEY or _TOKEN"
    )]
    EnvKey,
    #[error(
        "an acp profile has a command of 1 to 32 words, the first a full path or a bare name; no other has one"
    )]
    Command,
    #[error(
        "only an acp profile has `env` and `settings`: names of variables, and paths inside the agent's home"
    )]
    Surroundings,
}

impl Profile {
    pub const ENV_KEY: &'static str = "OPENAI_API_KEY";

    /// Begins a profile of a kind, with nothing set.
    #[must_use]
    pub fn of(backend: BackendKind) -> Self {
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

    /// Reads `profile.toml`.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            ProfileError::Line(before.matches('\n').count() + 1)
        })?;
        profile.check()?;
        Ok(profile)
    }

    /// Writes `profile.toml`.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Texts, lists and tables of texts have a form in TOML.
        toml::to_string(self).unwrap_or_default()
    }

    /// Says whether each part is what it should be.
    pub fn check(&self) -> Result<(), ProfileError> {
        let ensure = |holds: bool, error: ProfileError| if holds { Ok(()) } else { Err(error) };
        let is_acp = self.backend == BackendKind::Acp;
        let speaks_chat = self.wire_api == Some(WireApi::Chat);
        ensure(self.model.as_deref().is_none_or(is_model), ProfileError::Model)?;
        ensure(self.base_url.as_deref().is_none_or(is_base_url), ProfileError::BaseUrl)?;
        ensure(!(self.backend == BackendKind::Codex && speaks_chat), ProfileError::WireApi)?;
        ensure(is_env_key(&self.env_key), ProfileError::EnvKey)?;
        ensure(is_command(&self.command) == is_acp, ProfileError::Command)?;
        ensure(is_acp || self.command.is_empty(), ProfileError::Command)?;
        let is_bare = self.env.is_empty() && self.settings.is_empty();
        let fits =
            self.env.keys().all(|name| is_variable(name)) && self.settings.keys().all(|path| is_inside(path));
        ensure(fits && (is_acp || is_bare), ProfileError::Surroundings)
    }

    fn default_env_key() -> String {
        Self::ENV_KEY.to_owned()
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

/// Nothing that a program or its loader obeys has such a name: a tenant that chooses it and its value runs no code.
fn is_env_key(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let begins = name.starts_with(|c: char| c.is_ascii_uppercase());
    name.len() <= 64
        && begins
        && name.bytes().all(plain)
        && (name.ends_with("_KEY") || name.ends_with("_TOKEN"))
}

fn is_command(words: &[String]) -> bool {
    let is_word = |word: &String| !word.is_empty() && !word.contains('\0');
    // A path that depends on where it is read could name a program of the workspace.
    let is_program = |word: &String| word.starts_with('/') || !word.contains('/');
    (1..=32).contains(&words.len()) && words.iter().all(is_word) && words.first().is_some_and(is_program)
}

fn is_variable(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=64).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Says whether a path stays inside the folder that it begins in.
fn is_inside(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\0', '\\']);
    path.len() <= 255 && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let qwen = Profile {
            model: Some("qwen3-coder".to_owned()),
            base_url: Some("http://127.0.0.1:8000/v1".to_owned()),
            wire_api: Some(WireApi::Chat),
            command: vec!["qwen".to_owned(), "--acp".to_owned()],
            env: BTreeMap::from([("LANG".to_owned(), "C.UTF-8".to_owned())]),
            settings: BTreeMap::from([(".agent/settings.json".to_owned(), "{\"a\":\n\"b\"}".to_owned())]),
            ..Profile::of(BackendKind::Acp)
        };
        for profile in [qwen, Profile::of(BackendKind::Codex), Profile::of(BackendKind::Script)] {
            assert_eq!(Profile::parse(&profile.to_toml()), Ok(profile.clone()), "{}", profile.to_toml());
        }
    }

    #[test]
    fn the_shortest_profile_has_the_usual_credential() {
        let profile = Profile::parse("backend = \"codex\"").expect("a profile");
        assert_eq!(profile, Profile::of(BackendKind::Codex));
        assert_eq!(profile.env_key, "OPENAI_API_KEY");
    }

    #[test]
    fn what_is_no_profile_is_refused_and_not_repeated() {
        use ProfileError::{BaseUrl, Command, EnvKey, Line, Model, Surroundings};
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
            ("backend = \"codex\"\nenv = { LD_PRELOAD = \"x\" }", Surroundings),
            ("backend = \"acp\"\ncommand = [\"a\"]\nenv = { \"A=B\" = \"x\" }", Surroundings),
            ("backend = \"acp\"\ncommand = [\"a\"]\nsettings = { \"../evil\" = \"x\" }", Surroundings),
            ("backend = \"acp\"\ncommand = [\"a\"]\nsettings = { \"/etc/evil\" = \"x\" }", Surroundings),
            ("backend = \"codex\"\nenv_key = \"\"", EnvKey),
        ] {
            let refused = Profile::parse(text).expect_err(text);
            assert_eq!(refused, error, "{text}");
            assert!(!refused.to_string().contains("canary"), "{refused}");
        }
    }

    #[test]
    fn no_variable_that_a_program_obeys_can_carry_a_credential() {
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
        fn no_text_breaks_out_of_its_place(model in "[!-~]{1,128}", value in "\\PC{0,40}") {
            let profile = Profile {
                model: Some(model),
                command: vec!["x".to_owned(), format!("-{value}")],
                env: BTreeMap::from([("A".to_owned(), value.clone())]),
                settings: BTreeMap::from([("a/b".to_owned(), value)]),
                ..Profile::of(BackendKind::Acp)
            };
            prop_assert_eq!(Profile::parse(&profile.to_toml()), Ok(profile));
        }

        #[test]
        fn whatever_is_read_does_not_panic(text in "\\PC{0,200}") {
            let _read = Profile::parse(&text);
        }
    }
}
