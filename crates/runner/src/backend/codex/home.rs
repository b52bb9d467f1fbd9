//! The home directory, configuration and environment of a Codex process.
//!
//! The configuration is written before every start, so changes that a turn made to it have no effect. The workspace is
//! marked as untrusted; otherwise Codex would execute what its `.codex/config.toml` says.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::Network;
use secrecy::SecretString;
use serde::Serialize;

use super::image::{codex_home, remove_images};
use super::profile::CodexProfile;
use crate::backend::{BackendConfig, ModelEndpoint, environment};
use crate::sandbox::{AgentDir, create_dir};

/// The name of the provider in the configuration.
const PROVIDER: &str = "guildhall";

/// The directories of a Codex process.
#[derive(Debug)]
pub(super) struct CodexHome {
    codex: PathBuf,
    user: PathBuf,
    temporary: PathBuf,
}

impl CodexHome {
    /// Creates the directories and writes the configuration. Removes the rules of an earlier process: a rule that the
    /// agent wrote would allow commands without approval and without a sandbox.
    pub(super) fn prepare(
        config: &BackendConfig,
        profile: &CodexProfile,
        endpoint: &ModelEndpoint,
    ) -> io::Result<Self> {
        let home = Self {
            codex: codex_home(config),
            user: config.state.join("home"),
            temporary: config.state.join("tmp"),
        };
        for dir in [&home.user, &home.temporary] {
            create_dir(dir, config.user)?;
        }
        let codex = AgentDir::open(&home.codex, config.user)?;
        codex.remove(Path::new("rules"))?;
        remove_images(&codex)?;
        let text = CodexConfig::new(config, profile, endpoint).to_toml()?;
        codex.write(Path::new("config.toml"), &text)?;
        Ok(home)
    }

    /// Returns the directories that Codex may write to besides its workspace.
    pub(super) fn dirs(&self) -> [&Path; 3] {
        [&self.codex, &self.user, &self.temporary]
    }

    /// Returns the complete environment of the process.
    pub(super) fn environment(
        &self,
        config: &BackendConfig,
        endpoint: &ModelEndpoint,
    ) -> Vec<(String, SecretString)> {
        let own = [("CODEX_HOME", &self.codex), ("HOME", &self.user), ("TMPDIR", &self.temporary)]
            .map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()));
        let variables = environment::inherited()
            .chain(config.tool_environment())
            .chain(endpoint.proxy_environment.iter().cloned())
            .chain(own);
        environment::with_secrets(&endpoint.secrets, variables)
    }
}

/// The part of Codex's configuration that we set.
#[derive(Debug, Serialize)]
struct CodexConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    model_provider: &'static str,
    web_search: &'static str,
    check_for_update_on_startup: bool,
    model_providers: BTreeMap<&'static str, ProviderConfig<'a>>,
    analytics: Switch,
    feedback: Switch,
    shell_environment_policy: ShellEnvironment<'a>,
    projects: BTreeMap<String, ProjectConfig>,
}

#[derive(Debug, Serialize)]
struct ProviderConfig<'a> {
    name: &'static str,
    base_url: &'a str,
    wire_api: &'static str,
    /// The name of the variable, never its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    env_key: Option<&'a str>,
    request_max_retries: u32,
    stream_max_retries: u32,
}

#[derive(Debug, Serialize)]
struct Switch {
    enabled: bool,
}

/// The environment of the commands that the agent runs: without our secrets.
#[derive(Debug, Serialize)]
struct ShellEnvironment<'a> {
    inherit: &'static str,
    ignore_default_excludes: bool,
    exclude: Vec<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    set: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct ProjectConfig {
    trust_level: &'static str,
}

impl<'a> CodexConfig<'a> {
    fn new(config: &'a BackendConfig, profile: &'a CodexProfile, endpoint: &'a ModelEndpoint) -> Self {
        let provider = ProviderConfig {
            name: PROVIDER,
            base_url: endpoint.base_url.as_deref().unwrap_or(&profile.base_url),
            wire_api: "responses",
            env_key: profile.credential.as_deref(),
            request_max_retries: profile.retries,
            stream_max_retries: profile.retries,
        };
        let workspace = fs::canonicalize(&config.workspace).unwrap_or_else(|_| config.workspace.clone());
        Self {
            model: profile.model.as_deref(),
            model_provider: PROVIDER,
            web_search: match config.network {
                Network::Disabled => "disabled",
                Network::AllowList | Network::Enabled => "cached",
            },
            check_for_update_on_startup: false,
            model_providers: BTreeMap::from([(PROVIDER, provider)]),
            analytics: Switch { enabled: false },
            feedback: Switch { enabled: false },
            shell_environment_policy: ShellEnvironment {
                inherit: "core",
                ignore_default_excludes: false,
                exclude: config.secrets.iter().map(|(name, _)| name.as_str()).collect(),
                set: config.tool_environment().chain(endpoint.proxy_environment.iter().cloned()).collect(),
            },
            projects: untrusted(&workspace).chain(untrusted(&config.workspace)).collect(),
        }
    }

    fn to_toml(&self) -> io::Result<String> {
        toml::to_string(self).map_err(io::Error::other)
    }
}

/// Marks a directory and its ancestors as untrusted: the workspace may be inside of a repository.
fn untrusted(workspace: &Path) -> impl Iterator<Item = (String, ProjectConfig)> {
    let dirs = workspace.ancestors().map(|dir| dir.to_string_lossy().into_owned());
    dirs.map(|dir| (dir, ProjectConfig { trust_level: "untrusted" }))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::backend::test_config::test_config;

    fn config(dir: &Path) -> BackendConfig {
        BackendConfig { workspace: dir.join("work \"space\"\n"), ..test_config(dir, "PROVIDER_KEY") }
    }

    fn profile() -> CodexProfile {
        CodexProfile {
            program: "codex".into(),
            model: Some("m\"\n[model_providers.evil]\nx = \"".to_owned()),
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            credential: Some("PROVIDER_KEY".to_owned()),
            retries: 2,
        }
    }

    /// The endpoint of an agent that is not contained.
    fn endpoint(dir: &Path) -> ModelEndpoint {
        ModelEndpoint { secrets: config(dir).secrets, ..ModelEndpoint::default() }
    }

    #[test]
    fn configuration_names_the_credential_without_its_value() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let home =
            CodexHome::prepare(&config(dir.path()), &profile(), &endpoint(dir.path())).expect("prepare");
        let text = fs::read_to_string(home.codex.join("config.toml")).expect("read config.toml");
        assert!(!text.contains("canary") && text.contains("PROVIDER_KEY"), "{text}");
        let environment = home.environment(&config(dir.path()), &endpoint(dir.path()));
        let value = environment.iter().find(|(name, _)| name == "PROVIDER_KEY").expect("secret is set");
        assert_eq!(value.1.expose_secret(), "canary-1234");
    }

    #[test]
    fn values_in_the_configuration_are_escaped() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let home =
            CodexHome::prepare(&config(dir.path()), &profile(), &endpoint(dir.path())).expect("prepare");
        let text = fs::read_to_string(home.codex.join("config.toml")).expect("read config.toml");
        let read: toml::Table = text.parse().expect("valid TOML");
        assert_eq!(read["model"].as_str(), profile().model.as_deref());
        assert_eq!(read["model_providers"].as_table().expect("table").len(), 1);
        let workspace = config(dir.path()).workspace.to_string_lossy().into_owned();
        assert_eq!(read["projects"][&workspace]["trust_level"].as_str(), Some("untrusted"));
    }

    #[test]
    fn prepare_replaces_a_configuration_that_a_turn_changed() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let home =
            CodexHome::prepare(&config(dir.path()), &profile(), &endpoint(dir.path())).expect("prepare");
        let file = home.codex.join("config.toml");
        let elsewhere = dir.path().join("elsewhere");
        fs::remove_file(&file).expect("remove file");
        std::os::unix::fs::symlink(&elsewhere, &file).expect("create symlink");
        CodexHome::prepare(&config(dir.path()), &profile(), &endpoint(dir.path())).expect("prepare again");
        assert!(!elsewhere.exists() && fs::symlink_metadata(&file).expect("file exists").is_file());
    }
}
