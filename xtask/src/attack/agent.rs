//! The agents that run the attacks: the script backend, and real agents with a fake model.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::command::{cargo, step, target};
use crate::dev_server::text;

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

/// A running fake model; dropping this value stops it.
pub(super) struct FakeModel {
    child: Child,
    base_url: String,
    codex: PathBuf,
    qwen: PathBuf,
}

impl FakeModel {
    pub(super) fn start() -> Result<Self> {
        let args = ["build", "--quiet", "--package", "guildhall-testkit", "--bin", "fake-model"];
        step("build the fake model", &mut cargo(args))?;
        let mut child = Command::new(target().join("debug/fake-model"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the fake model")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("stdout is not piped")?).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).context("the fake model did not become ready")?;
        Ok(Self {
            child,
            base_url: text(&ready, "baseUrl")?,
            codex: text(&ready, "codex")?.into(),
            qwen: text(&ready, "qwen")?.into(),
        })
    }

    /// Returns the folder of the Codex program, for the search path of runners.
    pub(super) fn codex_folder(&self) -> &Path {
        self.codex.parent().unwrap_or(&self.codex)
    }

    /// Writes the profile of an agent into the operator's folder of profiles.
    pub(super) fn write_profile(&self, backend: Backend, profiles: &Path, credential: &str) -> Result<()> {
        let base_url = &self.base_url;
        let specific = match backend {
            Backend::Script => return Ok(()),
            Backend::Codex => "backend = \"codex\"\nenv_key = \"FAKE_API_KEY\"\n".to_owned(),
            Backend::Qwen => format!("backend = \"acp\"\ncommand = [{:?}, \"--acp\"]\n", self.qwen),
        };
        let profile = format!("{specific}model = \"fake-model\"\nbase_url = \"{base_url}\"\n");
        write_profile(&profiles.join(backend.profile()), &profile, credential)
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _reaped = self.child.wait();
    }
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
