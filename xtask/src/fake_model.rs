//! The fake model of the tests as a process, with the paths of the agents that `.ci/setup` installs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command::{build_workspace, program};
use crate::dev_server::text;

/// A running fake model; dropping this value stops it.
pub(crate) struct FakeModel {
    child: Child,
    pub(crate) base_url: String,
    codex: PathBuf,
    pub(crate) qwen: PathBuf,
}

impl FakeModel {
    pub(crate) fn start() -> Result<Self> {
        build_workspace()?;
        let mut child = Command::new(program("fake-model"))
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

    /// Returns the folder of the Codex program, for a search path.
    pub(crate) fn codex_folder(&self) -> &Path {
        self.codex.parent().unwrap_or(&self.codex)
    }

    /// Returns the folder of the Qwen program, for a search path.
    pub(crate) fn qwen_folder(&self) -> &Path {
        self.qwen.parent().unwrap_or(&self.qwen)
    }

    /// Returns the folder with the Node packages of the agents.
    pub(crate) fn node_modules(&self) -> &Path {
        // The program is in `node_modules/.bin`.
        self.qwen_folder().parent().unwrap_or(&self.qwen)
    }

    /// Writes templates that lead the agents to the fake model. Commands stay as a user types them.
    pub(crate) fn write_templates(&self, dir: &Path) -> Result<()> {
        let model = format!("model = \"fake-model\"\nbase_url = \"{}\"\n", self.base_url);
        fs::write(dir.join("codex.toml"), format!("backend = \"codex\"\n{model}"))?;
        let command = "backend = \"acp\"\ncommand = [\"qwen\", \"--acp\"]\n";
        Ok(fs::write(dir.join("qwen.toml"), format!("{command}{model}"))?)
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _reaped = self.child.wait();
    }
}
