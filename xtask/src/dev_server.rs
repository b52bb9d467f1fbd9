//! A temporary installation, and requests to it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// The first user of `guildhall dev`.
pub(crate) const OPERATOR: &str = "admin";

pub(crate) const SIGN_IN: &str = "/api/v1/auth/login";

/// A running `guildhall dev`; dropping this value stops it.
pub(crate) struct DevServer {
    child: Child,
    url: String,
    state: PathBuf,
    ready: Value,
}

impl DevServer {
    /// Starts `guildhall dev` with a temporary state folder. The command names the program and its environment.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .args(["dev", "--ephemeral", "--json", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `guildhall dev`")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("stdout is not piped")?).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).context("`guildhall dev` did not become ready")?;
        let url = text(&ready, "url")?;
        let state = text(&ready, "state")?.into();
        Ok(Self { child, url, state, ready })
    }

    /// Returns the line that `guildhall dev` printed when it was ready.
    pub(crate) fn ready(&self) -> &Value {
        &self.ready
    }

    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Signs in as the operator and returns an access token, which is valid for 5 minutes.
    pub(crate) fn sign_in(&self) -> Result<String> {
        let credentials = json!({ "name": OPERATOR, "password": self.password()? });
        text(&self.post(SIGN_IN, "", &credentials)?, "accessToken")
    }

    /// Returns the password of the operator.
    pub(crate) fn password(&self) -> Result<String> {
        Ok(fs::read_to_string(self.state.join("admin.password"))?)
    }

    /// Sends a request that must succeed and returns the body of the response.
    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> Result<Value> {
        self.send("POST", path, token, &body.to_string())
    }

    /// Reads an object.
    pub(crate) fn get(&self, path: &str, token: &str) -> Result<Value> {
        self.send("GET", path, token, "")
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &str) -> Result<Value> {
        let host = self.url.trim_start_matches("http://");
        let authorization =
            if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
        let mut stream = TcpStream::connect(host)?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{authorization}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").context("incomplete response")?;
        ensure!(head.starts_with("HTTP/1.1 2"), "{method} {path} failed: {response}");
        serde_json::from_str(body).with_context(|| format!("the response of {method} {path} is not JSON"))
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        // SIGINT lets it remove its state folder.
        let _gone = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _reaped = self.child.wait();
    }
}

/// Returns a string of a response.
pub(crate) fn text(body: &Value, key: &str) -> Result<String> {
    Ok(body[key].as_str().with_context(|| format!("no `{key}` in the response: {body}"))?.to_owned())
}
