//! The agents that run the attacks: the script backend, and real agents with a fake model.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::fake_model::FakeModel;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    Script,
    Codex,
    Qwen,
}

impl Backend {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Codex => "codex",
            Self::Qwen => "qwen",
        }
    }

    pub(super) fn profile(self) -> &'static str {
        match self {
            Self::Script => "demo",
            Self::Codex => "attack-codex",
            Self::Qwen => "attack-qwen",
        }
    }

    /// Returns the part of the execution policy that lets the run use the provider's credential.
    pub(super) fn secret_scope(self) -> Option<Value> {
        let name = format!("guildhall-provider-{}", self.profile());
        let scope = json!({ "providerCredentials": [{ "name": name, "keys": ["credential"] }] });
        (self != Self::Script).then_some(scope)
    }

    /// Returns how many attacks fit into one turn: agents give a tool less time than a group may need.
    pub(super) fn attacks_per_turn(self, group: &str) -> usize {
        match (self, group) {
            (Self::Script, _) => usize::MAX,
            (Self::Codex | Self::Qwen, "resources") => 1,
            (Self::Codex | Self::Qwen, _) => 12,
        }
    }
}

/// Writes the profile of an agent into the operator's folder of profiles.
pub(super) fn write_agent_profile(
    model: &FakeModel,
    backend: Backend,
    profiles: &Path,
    credential: &str,
) -> Result<()> {
    let specific = match backend {
        Backend::Script => return Ok(()),
        Backend::Codex => "backend = \"codex\"\nenv_key = \"FAKE_API_KEY\"\n".to_owned(),
        Backend::Qwen => format!("backend = \"acp\"\ncommand = [{:?}, \"--acp\"]\n", model.qwen),
    };
    let profile = format!("{specific}model = \"fake-model\"\nbase_url = \"{}\"\n", model.base_url);
    write_profile(&profiles.join(backend.profile()), &profile, credential)
}

/// Writes a profile and its credential, readable by the owner.
pub(super) fn write_profile(folder: &Path, profile: &str, credential: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in [("profile.toml", profile), ("credential", credential)] {
        let file = folder.join(name);
        fs::write(&file, text)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}
