//! The API document as a promise: schemathesis sends what it can think of, and every answer must be documented.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::command::{cargo, step, target};

/// The caller operates the installation. Streams never end by themselves, and signing out would end the check. The parts
/// of a new run are read by rules that a schema cannot say; crates/server/tests/it/runs.rs tries them.
const SETTINGS: &str = r#"
headers = { Authorization = "Bearer ${TOKEN}" }

[[operations]]
include-operation-id = ["followAudit", "followRun", "followSession", "signOut", "createRun"]
enabled = false
"#;

#[derive(Args)]
pub(crate) struct ContractArgs {
    /// The seed of the generated requests
    #[arg(long, default_value_t = 7117)]
    seed: u32,
    /// How many requests to generate for each operation
    #[arg(long, default_value_t = 40)]
    examples: u32,
}

impl Default for ContractArgs {
    fn default() -> Self {
        Self { seed: 7117, examples: 40 }
    }
}

pub(crate) fn run(args: &ContractArgs) -> Result<()> {
    step("build guildhall", &mut cargo(["build", "--quiet", "--package", "guildhall-cli"]))?;
    let server = Server::start()?;
    let notes = tempfile::tempdir()?;
    fs::write(notes.path().join("schemathesis.toml"), SETTINGS)?;
    let mut schemathesis = Command::new(program());
    schemathesis
        .args(["run", &format!("{}/openapi.json", server.url)])
        .args(["--seed", &args.seed.to_string(), "--max-examples", &args.examples.to_string()])
        .args(["--request-timeout", "15", "--generation-database", "none", "--no-color"])
        // It leaves notes where it stands, and finds its settings there.
        .current_dir(notes.path())
        .env("TOKEN", server.sign_in()?);
    step("contract", &mut schemathesis).context(
        "the answers of the server and schemas/openapi.json disagree (or schemathesis is missing: `.ci/setup` installs it)",
    )
}

/// A whole installation for the length of the check; it ends with this value.
struct Server {
    child: Child,
    url: String,
    state: PathBuf,
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
        let state = ready["state"].as_str().context("no state folder")?.into();
        Ok(Self { child, url, state })
    }

    /// Signs in as the one who operates it, and returns the access token.
    fn sign_in(&self) -> Result<String> {
        let password = fs::read_to_string(self.state.join("admin.password"))?;
        let body = json!({ "name": "admin", "password": password }).to_string();
        let host = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "POST /api/v1/auth/login HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, tokens) = answer.split_once("\r\n\r\n").context("no answer to the sign-in")?;
        let tokens: Value = serde_json::from_str(tokens)?;
        Ok(tokens["accessToken"].as_str().context("the sign-in was refused")?.to_owned())
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
