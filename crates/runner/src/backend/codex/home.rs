//! What Codex finds when it starts: its own folders, a configuration that we write, an environment that is empty but for
//! a short list.
//!
//! The configuration is written anew before every start, so nothing that a turn has left there counts. The workspace
//! may be anybody's: it is named as not trusted, else Codex would run what a `.codex/config.toml` in it says.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::Network;
use secrecy::SecretString;
use serde::Serialize;

use super::Profile;
use crate::backend::{Setting, surroundings};

/// The name of the provider in the configuration. It appears nowhere else.
const PROVIDER: &str = "guildhall";

/// Where Codex keeps what it keeps.
#[derive(Debug)]
pub(super) struct Home {
    codex: PathBuf,
    user: PathBuf,
    temporary: PathBuf,
}

impl Home {
    /// Makes the folders and writes the configuration.
    pub(super) fn prepare(setting: &Setting, profile: &Profile) -> io::Result<Self> {
        let home = Self {
            codex: setting.state.join("codex"),
            user: setting.state.join("home"),
            temporary: setting.state.join("tmp"),
        };
        for folder in [&home.codex, &home.user, &home.temporary] {
            surroundings::folder(folder)?;
        }
        let text = Config::new(setting, profile).write()?;
        surroundings::replace(&home.codex.join("config.toml"), &text)?;
        Ok(home)
    }

    /// Returns everything that the agent's environment holds: the secrets are there and nowhere else.
    pub(super) fn environment(&self, secrets: &[(String, SecretString)]) -> Vec<(String, SecretString)> {
        let own = [("CODEX_HOME", &self.codex), ("HOME", &self.user), ("TMPDIR", &self.temporary)]
            .map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()));
        let plain =
            surroundings::passed_on().chain(own).map(|(name, value)| (name, SecretString::from(value)));
        // A later one wins: no secret takes the name of something that we set.
        secrets.iter().cloned().chain(plain).collect()
    }
}

/// The part of Codex's configuration that we set.
#[derive(Debug, Serialize)]
struct Config<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    model_provider: &'static str,
    web_search: &'static str,
    check_for_update_on_startup: bool,
    model_providers: BTreeMap<&'static str, Provider<'a>>,
    analytics: Switch,
    feedback: Switch,
    shell_environment_policy: ShellEnvironment<'a>,
    projects: BTreeMap<String, Project>,
}

#[derive(Debug, Serialize)]
struct Provider<'a> {
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

/// What the commands see that the agent runs: none of our secrets.
#[derive(Debug, Serialize)]
struct ShellEnvironment<'a> {
    inherit: &'static str,
    ignore_default_excludes: bool,
    exclude: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct Project {
    trust_level: &'static str,
}

impl<'a> Config<'a> {
    fn new(setting: &'a Setting, profile: &'a Profile) -> Self {
        let provider = Provider {
            name: PROVIDER,
            base_url: &profile.base_url,
            wire_api: "responses",
            env_key: profile.credential.as_deref(),
            request_max_retries: profile.retries,
            stream_max_retries: profile.retries,
        };
        let workspace = fs::canonicalize(&setting.workspace).unwrap_or_else(|_| setting.workspace.clone());
        Self {
            model: profile.model.as_deref(),
            model_provider: PROVIDER,
            web_search: match setting.network {
                Network::Disabled => "disabled",
                Network::Enabled => "cached",
            },
            check_for_update_on_startup: false,
            model_providers: BTreeMap::from([(PROVIDER, provider)]),
            analytics: Switch { enabled: false },
            feedback: Switch { enabled: false },
            shell_environment_policy: ShellEnvironment {
                inherit: "core",
                ignore_default_excludes: false,
                exclude: setting.secrets.iter().map(|(name, _)| name.as_str()).collect(),
            },
            projects: untrusted(&workspace).chain(untrusted(&setting.workspace)).collect(),
        }
    }

    fn write(&self) -> io::Result<String> {
        toml::to_string(self).map_err(io::Error::other)
    }
}

/// Names a folder and all above it: the workspace may lie inside a repository.
fn untrusted(workspace: &Path) -> impl Iterator<Item = (String, Project)> {
    let folders = workspace.ancestors().map(|folder| folder.to_string_lossy().into_owned());
    folders.map(|folder| (folder, Project { trust_level: "untrusted" }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use guildhall_domain::runs::policy::{Approval, Sandbox};
    use secrecy::ExposeSecret;

    use crate::child::OutOfReach;

    use super::*;

    fn setting(folder: &Path) -> Setting {
        Setting {
            workspace: folder.join("work \"space\"\n"),
            state: folder.join("state"),
            sandbox: Sandbox::WorkspaceWrite,
            approval: Approval::Never,
            network: Network::Disabled,
            secrets: vec![("PROVIDER_KEY".to_owned(), SecretString::from("canary-1234"))],
            turn_timeout: Duration::from_secs(1),
            out_of_reach: OutOfReach::default(),
            tool_calls_at_most: 1,
        }
    }

    fn profile() -> Profile {
        Profile {
            program: "codex".into(),
            model: Some("m\"\n[model_providers.evil]\nx = \"".to_owned()),
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            credential: Some("PROVIDER_KEY".to_owned()),
            retries: 2,
        }
    }

    #[test]
    fn the_configuration_names_the_credential_and_does_not_hold_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::prepare(&setting(folder.path()), &profile()).expect("written");
        let text = fs::read_to_string(home.codex.join("config.toml")).expect("a file");
        assert!(!text.contains("canary") && text.contains("PROVIDER_KEY"), "{text}");
        let environment = home.environment(&setting(folder.path()).secrets);
        let value = environment.iter().find(|(name, _)| name == "PROVIDER_KEY").expect("it is there");
        assert_eq!(value.1.expose_secret(), "canary-1234");
    }

    #[test]
    fn no_value_breaks_out_of_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::prepare(&setting(folder.path()), &profile()).expect("written");
        let text = fs::read_to_string(home.codex.join("config.toml")).expect("a file");
        let read: toml::Table = text.parse().expect("it is TOML");
        assert_eq!(read["model"].as_str(), profile().model.as_deref());
        assert_eq!(read["model_providers"].as_table().expect("a table").len(), 1);
        let workspace = setting(folder.path()).workspace.to_string_lossy().into_owned();
        assert_eq!(read["projects"][&workspace]["trust_level"].as_str(), Some("untrusted"));
    }

    #[test]
    fn what_a_turn_left_as_a_configuration_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::prepare(&setting(folder.path()), &profile()).expect("written");
        let file = home.codex.join("config.toml");
        let elsewhere = folder.path().join("elsewhere");
        fs::remove_file(&file).expect("removed");
        std::os::unix::fs::symlink(&elsewhere, &file).expect("linked");
        Home::prepare(&setting(folder.path()), &profile()).expect("written again");
        assert!(!elsewhere.exists() && fs::symlink_metadata(&file).expect("there").is_file());
    }
}
