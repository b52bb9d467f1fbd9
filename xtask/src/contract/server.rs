//! A temporary installation, and requests to it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::command::target;

/// The first user of `guildhall dev`.
pub(super) const OPERATOR: &str = "admin";

pub(super) const SIGN_IN: &str = "/api/v1/auth/login";

/// A running `guildhall dev`; dropping this value stops it.
pub(super) struct Server {
    child: Child,
    url: String,
    state: PathBuf,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let mut child = Command::new(target().join("debug/guildhall"))
            .args(["dev", "--ephemeral", "--json", "--listen", "127.0.0.1:0"])
            // The runners of the check are requests; a real one would claim their runs.
            .env("GUILDHALL_LAUNCHER_KIND", "none")
            // The check sends more requests to sign-in routes than one address may by default.
            .env("GUILDHALL_LIMITS_SIGN_IN", "100000/60s")
            .env("GUILDHALL_LIMITS_ACCOUNT", "100000/60s")
            // Nobody renews the leases of the check.
            .env("GUILDHALL_RUNS_LEASE", "1h")
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `guildhall dev`")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("stdout is not piped")?).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).context("`guildhall dev` did not become ready")?;
        let url = ready["url"].as_str().context("no url in the output of `guildhall dev`")?.to_owned();
        let state =
            ready["state"].as_str().context("no state folder in the output of `guildhall dev`")?.into();
        Ok(Self { child, url, state })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Signs in as the operator and returns an access token, which is valid for 5 minutes.
    pub(super) fn sign_in(&self) -> Result<String> {
        let credentials = json!({ "name": OPERATOR, "password": self.password()? });
        text(&self.post(SIGN_IN, "", &credentials)?, "accessToken")
    }

    /// Returns the password of the operator.
    pub(super) fn password(&self) -> Result<String> {
        Ok(fs::read_to_string(self.state.join("admin.password"))?)
    }

    /// Sends a request that must succeed and returns the body of the response.
    pub(super) fn post(&self, path: &str, token: &str, body: &Value) -> Result<Value> {
        let host = self.url.trim_start_matches("http://");
        let authorization =
            if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
        let body = body.to_string();
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{authorization}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").context("incomplete response")?;
        ensure!(head.starts_with("HTTP/1.1 2"), "POST {path} failed: {response}");
        serde_json::from_str(body).with_context(|| format!("the response of POST {path} is not JSON"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT lets it remove its state folder.
        let _gone = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _reaped = self.child.wait();
    }
}

/// Returns a string of a response.
pub(super) fn text(body: &Value, key: &str) -> Result<String> {
    Ok(body[key].as_str().with_context(|| format!("no `{key}` in the response: {body}"))?.to_owned())
}
