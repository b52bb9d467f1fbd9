//! Somebody with a configuration folder of their own, and a server to talk to.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::{Running, guildhall};

/// A person at a terminal that is none: standard input is a pipe.
pub(crate) struct User {
    home: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::Builder::new().prefix("guildhall-user-").tempdir().expect("a folder") }
    }

    pub(crate) fn kept(&self, file: &str) -> PathBuf {
        self.home.path().join("config/guildhall").join(file)
    }

    /// Returns a command of this user.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = guildhall();
        command
            .args(args)
            .current_dir(self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path().join("config"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("ran")
    }

    /// Runs a command with something on its standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Output {
        Self::feed(self.command(args), input)
    }

    /// Runs a command that is nobody's in particular with something on its standard input.
    pub(crate) fn feed(mut command: Command, input: &str) -> Output {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("runs");
        // A command that needs no input may be gone before it is written.
        let _not_read = child.stdin.take().expect("piped").write_all(input.as_bytes());
        child.wait_with_output().expect("ran")
    }

    /// Runs a command that must succeed, and returns its JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        let output = self.run(&args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Signs in as the first user of a server.
    pub(crate) fn login(&self, server: &Server) {
        let output = self.run_with(
            &["login", "--url", &server.url, "--name", "admin", "--password-stdin"],
            &format!("{}\n", server.password),
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }

    /// Lets the access tokens expire, as far as this user can tell.
    pub(crate) fn expire(&self) {
        let path = self.kept("tokens.json");
        let mut kept: Value = serde_json::from_slice(&std::fs::read(&path).expect("tokens")).expect("JSON");
        for tokens in kept.as_object_mut().expect("by context").values_mut() {
            tokens["accessExpiresAt"] = "2020-01-01T00:00:00Z".into();
        }
        std::fs::write(&path, kept.to_string()).expect("written");
    }
}

/// A running `guildhall dev` that keeps nothing.
pub(crate) struct Server {
    pub(crate) running: Running,
    /// Where it keeps its data.
    pub(crate) state: PathBuf,
    pub(crate) url: String,
    pub(crate) password: String,
    /// What it said when it was ready.
    pub(crate) ready: Value,
}

impl Server {
    pub(crate) fn ephemeral() -> Self {
        Self::ephemeral_with(&[])
    }

    /// Starts it with settings in its environment.
    pub(crate) fn ephemeral_with(settings: &[(&str, &str)]) -> Self {
        let mut command = guildhall();
        // Runners are played by the tests, unless they say otherwise.
        command.env("GUILDHALL_LAUNCHER_KIND", "none").envs(settings.iter().copied());
        command.args(["dev", "--ephemeral", "--json", "--listen", "127.0.0.1:0"]);
        Self::of(Running::start(&mut command))
    }

    /// Starts it on a state folder that stays.
    pub(crate) fn kept(state: &Path, listen: &str) -> Self {
        let mut command = guildhall();
        command.args(["dev", "--json", "--listen", listen, "--state"]).arg(state);
        command.env("GUILDHALL_LAUNCHER_KIND", "none");
        Self::of(Running::start(&mut command))
    }

    /// Starts one that keeps nothing on an address, with an identity provider.
    pub(crate) fn with_provider(listen: &str, issuer: &str, secret: &str) -> Self {
        let mut command = guildhall();
        command.args(["dev", "--ephemeral", "--json", "--listen", listen]);
        command.env("GUILDHALL_LAUNCHER_KIND", "none");
        command.env("GUILDHALL_OIDC_ISSUER", issuer).env("GUILDHALL_OIDC_CLIENT_ID", "guildhall");
        command.env("GUILDHALL_OIDC_CLIENT_SECRET", secret);
        Self::of(Running::start(&mut command))
    }

    fn of(mut running: Running) -> Self {
        let ready = running.ready();
        let state = PathBuf::from(ready["state"].as_str().expect("a folder"));
        let password = std::fs::read_to_string(state.join("admin.password")).expect("a password");
        let url = ready["url"].as_str().expect("a url").to_owned();
        Self { running, state, url, password, ready }
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
