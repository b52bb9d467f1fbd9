//! The API document as a promise: schemathesis sends what it can think of, and every answer must be documented.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::command::{cargo, step, target};

#[derive(Args)]
pub(crate) struct ContractArgs {
    /// The seed of the generated requests
    #[arg(long, default_value_t = 7117)]
    seed: u32,
    /// How many requests to generate for each operation
    #[arg(long, default_value_t = 200)]
    examples: u32,
}

impl Default for ContractArgs {
    fn default() -> Self {
        Self { seed: 7117, examples: 200 }
    }
}

pub(crate) fn run(args: &ContractArgs) -> Result<()> {
    step("build guildhall", &mut cargo(["build", "--quiet", "--package", "guildhall-cli"]))?;
    let server = Server::start()?;
    let notes = tempfile::tempdir()?;
    let mut schemathesis = Command::new(program());
    schemathesis
        .args(["run", &format!("{}/openapi.json", server.url)])
        .args(["--seed", &args.seed.to_string(), "--max-examples", &args.examples.to_string()])
        .args(["--request-timeout", "15", "--generation-database", "none", "--no-color"])
        // It leaves notes where it stands.
        .current_dir(notes.path());
    step("contract", &mut schemathesis).context(
        "the answers of the server and schemas/openapi.json disagree (or schemathesis is missing: `.ci/setup` installs it)",
    )
}

/// A whole installation for the length of the check; it ends with this value.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Result<Self> {
        let mut child = Command::new(target().join("debug/guildhall"))
            .args(["dev", "--ephemeral", "--json", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start guildhall dev")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).context("guildhall dev did not become ready")?;
        let url = ready["url"].as_str().context("no url")?.to_owned();
        Ok(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In good order, so that it removes its folder.
        let _already_gone = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _reaped = self.child.wait();
    }
}

/// Returns schemathesis where `.ci/setup` puts it, or else from the PATH.
fn program() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let installed =
        cache.map(|cache| cache.join("guildhall/tools/bin/schemathesis")).filter(|path| path.exists());
    installed.unwrap_or_else(|| "schemathesis".into())
}
