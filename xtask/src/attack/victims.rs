//! The program `victims.py`: listeners, processes and secret files that the attacks aim at.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::command::root;
use crate::dev_server::text;

/// A running `victims.py`; dropping this value stops it and its processes.
pub(super) struct Victims {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// A text that exists nowhere else, and its hash, which the attacks get.
pub(super) struct Canary {
    pub(super) text: String,
    pub(super) hash: String,
}

impl Victims {
    /// Starts the victims in a folder. Returns them and their part of the targets.
    pub(super) fn start(folder: &Path) -> Result<(Self, Value)> {
        let mut child = Command::new("python3")
            .arg(root().join("crates/testkit/attack/victims.py"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start victims.py")?;
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().context("stdout is not piped")?);
        let mut victims = Self { child, stdin, stdout };
        let targets = victims.read_line().context("victims.py did not start")?;
        Ok((victims, targets))
    }

    pub(super) fn create_canary(&mut self) -> Result<Canary> {
        let answer = self.request(&json!({ "canary": true }))?;
        Ok(Canary { text: text(&answer, "text")?, hash: text(&answer, "hash")? })
    }

    /// Returns the hash of a file.
    pub(super) fn hash_file(&mut self, path: &Path) -> Result<String> {
        text(&self.request(&json!({ "hash": path }))?, "hash")
    }

    /// Returns what happened to the victims.
    pub(super) fn observe(&mut self) -> Result<Value> {
        self.request(&json!({ "observe": true }))
    }

    fn request(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.stdin.as_mut().context("stdin is not piped")?, "{request}")?;
        self.read_line()
    }

    fn read_line(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("unexpected line of victims.py: {line:?}"))
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _reaped = self.child.wait();
    }
}
