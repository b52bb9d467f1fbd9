//! A CLI user with their own configuration folder, and a `guildhall dev` server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::{ChildProcess, guildhall};

/// A CLI user. Standard input is never a terminal.
pub(crate) struct CliUser {
    home: TempDir,
}

impl CliUser {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::Builder::new().prefix("guildhall-user-").tempdir().expect("a folder") }
    }

    /// Returns the working directory of the commands.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn config_path(&self, file: &str) -> PathBuf {
        self.home.path().join("config/guildhall").join(file)
    }

    /// Returns a `guildhall` command with this user's configuration.
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
        self.command(args).output().expect("the command runs")
    }

    /// Runs a command with text on its standard input.
    pub(crate) fn run_with_stdin(&self, args: &[&str], input: &str) -> Output {
        Self::run_with_input(self.command(args), input)
    }

    /// Runs any command with text on its standard input.
    pub(crate) fn run_with_input(mut command: Command, input: &str) -> Output {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        // A command that reads no input may exit before the write.
        let _closed_early = child.stdin.take().expect("piped").write_all(input.as_bytes());
        child.wait_with_output().expect("the command runs")
    }

    /// Runs a command with `--json`, asserts success and returns its output.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        let output = self.run(&args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Signs in as the first user of a server.
    pub(crate) fn login(&self, server: &DevServer) {
        let output = self.run_with_stdin(
            &["login", "--url", &server.url, "--name", "admin", "--password-stdin"],
            &format!("{}\n", server.password),
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }

    /// Marks the stored access tokens as expired.
    pub(crate) fn expire_tokens(&self) {
        let path = self.config_path("tokens.json");
        let mut stored: Value = serde_json::from_slice(&std::fs::read(&path).expect("tokens")).expect("JSON");
        for tokens in stored.as_object_mut().expect("tokens by context").values_mut() {
            tokens["accessExpiresAt"] = "2020-01-01T00:00:00Z".into();
        }
        std::fs::write(&path, stored.to_string()).expect("written");
    }
}

/// A running `guildhall dev`.
pub(crate) struct DevServer {
    pub(crate) process: ChildProcess,
    /// Its state folder.
    pub(crate) state: PathBuf,
    pub(crate) url: String,
    pub(crate) password: String,
    /// The JSON it printed when it was ready.
    pub(crate) ready: Value,
}

impl DevServer {
    pub(crate) fn ephemeral() -> Self {
        Self::ephemeral_with(&[])
    }

    /// Starts an ephemeral server with additional environment variables.
    pub(crate) fn ephemeral_with(settings: &[(&str, &str)]) -> Self {
        let mut command = guildhall();
        // No launcher by default: tests provide the runners.
        command.env("GUILDHALL_LAUNCHER_KIND", "none").envs(settings.iter().copied());
        command.args(["dev", "--ephemeral", "--json", "--listen", "127.0.0.1:0"]);
        Self::from_process(ChildProcess::start(&mut command))
    }

    /// Starts an ephemeral server that writes its log, with details, to a file.
    pub(crate) fn ephemeral_with_detailed_log(log: &Path) -> Self {
        let mut command = guildhall();
        command.env("GUILDHALL_LAUNCHER_KIND", "none").env("GUILDHALL_TELEMETRY_LOG_FILTER", "trace");
        command.args(["dev", "--ephemeral", "--json", "--listen", "127.0.0.1:0"]);
        let log = std::fs::File::create(log).expect("a file");
        Self::from_process(ChildProcess::start_with_stderr(&mut command, Stdio::from(log)))
    }

    /// Starts a server on a persistent state folder.
    pub(crate) fn persistent(state: &Path, listen: &str) -> Self {
        let mut command = guildhall();
        command.args(["dev", "--json", "--listen", listen, "--state"]).arg(state);
        command.env("GUILDHALL_LAUNCHER_KIND", "none");
        Self::from_process(ChildProcess::start(&mut command))
    }

    /// Starts an ephemeral server with an identity provider.
    pub(crate) fn with_oidc(listen: &str, issuer: &str, secret: &str) -> Self {
        let mut command = guildhall();
        command.args(["dev", "--ephemeral", "--json", "--listen", listen]);
        command.env("GUILDHALL_LAUNCHER_KIND", "none");
        command.env("GUILDHALL_OIDC_ISSUER", issuer).env("GUILDHALL_OIDC_CLIENT_ID", "guildhall");
        command.env("GUILDHALL_OIDC_CLIENT_SECRET", secret);
        Self::from_process(ChildProcess::start(&mut command))
    }

    fn from_process(mut process: ChildProcess) -> Self {
        let ready = process.wait_ready();
        let state = PathBuf::from(ready["state"].as_str().expect("a folder"));
        let password = std::fs::read_to_string(state.join("admin.password")).expect("a password");
        let url = ready["url"].as_str().expect("a url").to_owned();
        Self { process, state, url, password, ready }
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
