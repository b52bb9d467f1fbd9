//! The home directory, settings and environment of an agent process.
//!
//! The settings are written before every start, so changes that a turn made to them have no effect.

use std::io;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::known_agent::KnownAgent;
use super::profile::AcpProfile;
use crate::backend::{BackendConfig, ModelEndpoint, environment};
use crate::sandbox::{AgentDir, create_dir};

/// The variables with which agents of the APIs of OpenAI, Anthropic and Google find the name of their model.
const MODEL_VARIABLES: [&str; 3] = ["OPENAI_MODEL", "ANTHROPIC_MODEL", "GEMINI_MODEL"];

/// The directories of an agent process.
#[derive(Debug)]
pub(super) struct AgentHome {
    user: PathBuf,
    temporary: PathBuf,
}

impl AgentHome {
    /// Creates the directories and writes the settings.
    pub(super) fn prepare(config: &BackendConfig, profile: &AcpProfile) -> io::Result<Self> {
        let home = Self { user: config.state.join("home"), temporary: config.state.join("tmp") };
        create_dir(&home.temporary, config.user)?;
        let user = AgentDir::open(&home.user, config.user)?;
        let built_in = KnownAgent::of(profile).map(KnownAgent::files).unwrap_or_default().iter().copied();
        let from_profile = profile.settings.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        let removed = KnownAgent::of(profile).map(KnownAgent::removed).unwrap_or_default();
        for path in removed {
            user.remove(Path::new(path))?;
        }
        for (path, text) in built_in.chain(from_profile) {
            user.write(Path::new(path), text)?;
        }
        Ok(home)
    }

    /// Returns the directories that an agent may write to besides its workspace.
    pub(super) fn dirs(&self) -> [&Path; 2] {
        [&self.user, &self.temporary]
    }

    /// Returns the complete environment of the process.
    pub(super) fn environment(
        &self,
        config: &BackendConfig,
        profile: &AcpProfile,
        endpoint: &ModelEndpoint,
    ) -> Vec<(String, SecretString)> {
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let agent = KnownAgent::of(profile);
        let built_in = agent.map(KnownAgent::environment).unwrap_or_default();
        let built_in = built_in.iter().map(|(name, value)| text(name, value));
        let model = profile.model.iter().flat_map(|model| MODEL_VARIABLES.map(|name| text(name, model)));
        let base_url = endpoint.base_url.iter().flat_map(|url| base_url_variables(url));
        let from_profile = profile.env.iter().map(|(name, value)| text(name, value));
        let node_options = agent.and_then(|agent| agent.node_options(profile, &self.user));
        let node_options = node_options.iter().map(|options| text("NODE_OPTIONS", options));
        let own = [("HOME", &self.user), ("TMPDIR", &self.temporary)]
            .map(|(name, path)| text(name, &path.to_string_lossy()));
        let variables = environment::inherited()
            .chain(config.tool_environment())
            .chain(built_in)
            .chain(model)
            .chain(from_profile)
            .chain(base_url)
            .chain(endpoint.proxy_environment.iter().cloned())
            .chain(node_options)
            .chain(own);
        environment::with_secrets(&endpoint.secrets, variables)
    }
}

/// Returns the variables with which agents find their model. The SDKs of Anthropic and Google add the version to the path
/// themselves.
fn base_url_variables(url: &str) -> [(String, String); 3] {
    let without = |version: &str| url.trim_end_matches('/').trim_end_matches(version).to_owned();
    [
        ("OPENAI_BASE_URL".to_owned(), url.to_owned()),
        ("ANTHROPIC_BASE_URL".to_owned(), without("/v1")),
        ("GOOGLE_GEMINI_BASE_URL".to_owned(), without("/v1beta")),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::Duration;

    use secrecy::ExposeSecret;

    use super::*;
    use crate::backend::ModelApi;
    use crate::backend::test_config::test_config;

    fn config(dir: &Path) -> BackendConfig {
        test_config(dir, "OPENAI_API_KEY")
    }

    fn profile() -> AcpProfile {
        AcpProfile {
            command: vec!["/opt/bin/qwen".to_owned()],
            model: Some("m".to_owned()),
            api: ModelApi::Chat,
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            env: BTreeMap::from([("HOME".to_owned(), "/evil".to_owned()), ("A".to_owned(), "b".to_owned())]),
            settings: BTreeMap::from([("x/y.json".to_owned(), "{}".to_owned())]),
            silence_timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn credential_is_in_the_environment_and_in_no_file() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let config = config(dir.path());
        let endpoint = ModelEndpoint { secrets: config.secrets.clone(), ..ModelEndpoint::default() };
        let home = AgentHome::prepare(&config, &profile()).expect("prepare");
        for file in [".qwen/settings.json", "x/y.json"] {
            let text = fs::read_to_string(home.user.join(file)).expect("read file");
            assert!(!text.contains("canary"), "{text}");
        }
        let environment: BTreeMap<_, _> = home
            .environment(&config, &profile(), &endpoint)
            .into_iter()
            .map(|(name, value)| (name, value.expose_secret().to_owned()))
            .collect();
        assert_eq!(environment["OPENAI_API_KEY"], "canary-1234");
        assert_eq!((environment["OPENAI_MODEL"].as_str(), environment["A"].as_str()), ("m", "b"));
        assert_eq!(environment["HOME"], home.user.to_string_lossy(), "the profile cannot change HOME");
    }

    #[test]
    fn prepare_removes_rules_that_a_turn_wrote_and_follows_no_link() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let gemini = AcpProfile { command: vec!["gemini".to_owned()], ..profile() };
        let home = AgentHome::prepare(&config(dir.path()), &gemini).expect("prepare");
        let policies = home.user.join(".gemini/policies");
        fs::create_dir(&policies).expect("create directory");
        fs::write(policies.join("a.toml"), "decision = 'allow'").expect("write file");
        fs::create_dir(home.user.join(".gemini/tmp")).expect("create directory");
        AgentHome::prepare(&config(dir.path()), &gemini).expect("prepare again");
        assert!(!policies.exists() && home.user.join(".gemini/tmp").exists());

        let outside = dir.path().join("outside");
        fs::create_dir_all(outside.join("policies")).expect("create directory");
        fs::remove_dir_all(home.user.join(".gemini")).expect("remove directory");
        std::os::unix::fs::symlink(&outside, home.user.join(".gemini")).expect("link");
        AgentHome::prepare(&config(dir.path()), &gemini).expect("prepare again");
        assert!(outside.join("policies").exists(), "a link was followed");
    }

    #[test]
    fn prepare_replaces_settings_that_a_turn_changed() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let home = AgentHome::prepare(&config(dir.path()), &profile()).expect("prepare");
        let file = home.user.join(".qwen/settings.json");
        fs::write(&file, "{\"mcpServers\":{}}").expect("write file");
        AgentHome::prepare(&config(dir.path()), &profile()).expect("prepare again");
        assert!(!fs::read_to_string(&file).expect("read file").contains("mcpServers"));
    }
}
