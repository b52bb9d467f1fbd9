//! The runner's own program with a profile of a real agent, and a fake model behind it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use guildhall_domain::profiles::Profile;
use guildhall_protocol::rest::runs::CreateRun;
use guildhall_sdk::Client;
use guildhall_testkit::FakeModel;
use rustix::process::Signal;
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::Running;
use super::runner::{Yard, text};
use super::user::Server;

/// The name of the profile.
const PROFILE: &str = "mine";

/// A server, its model, and a folder for the runners that serve one profile.
pub(crate) struct Camp {
    pub(crate) url: String,
    pub(crate) yard: Yard,
    pub(crate) model: FakeModel,
    pub(crate) folder: TempDir,
    /// The program that runners take for Codex.
    pub(crate) codex: PathBuf,
    client: Client,
    runtime: Runtime,
    _server: Option<Server>,
}

impl Camp {
    /// Pitches everything but the runner. `describe` makes the profile for the model's address.
    pub(crate) fn pitch(credential: &str, describe: impl FnOnce(String) -> Profile) -> Self {
        let server = Server::ephemeral();
        let yard = Yard::new(&server);
        let camp = Self::at(server.url.clone(), yard, credential, describe);
        Self { _server: Some(server), ..camp }
    }

    /// Pitches at a server that runs already.
    pub(crate) fn at(
        url: String,
        yard: Yard,
        credential: &str,
        describe: impl FnOnce(String) -> Profile,
    ) -> Self {
        let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let runtime = Runtime::new().expect("a runtime");
        let model = runtime.block_on(FakeModel::start());
        let key = yard.user.json(&["keys", "create", "test", "--role", "developer", "--tenant", "acme"]);
        let key = SecretString::from(text(&key, "secret"));
        let client = Client::new(&url).expect("an address").with_tokens(Arc::new(key));
        let folder = tempfile::Builder::new().prefix("guildhall-camp-").tempdir().expect("a folder");
        let profile = folder.path().join("profiles").join(PROFILE);
        fs::create_dir_all(&profile).expect("a folder");
        private(&profile.join("profile.toml"), &describe(model.base_url()).to_toml());
        private(&profile.join("credential"), credential);
        private(&folder.path().join("enrolment"), &yard.enrolment);
        let codex = guildhall_testkit::codex();
        Self { url, yard, model, folder, codex, client, runtime, _server: None }
    }

    /// Starts the runner for one run. What it says goes into a file.
    pub(crate) fn runner(&self) -> Running {
        let log = fs::File::create(self.log()).expect("a log");
        let mut command = Command::new(program());
        let keep = |name: &str| std::env::var_os(name).unwrap_or_default();
        command
            .args(["--url", &self.url, "--profile", PROFILE, "--one-shot", "--enrolment-file"])
            .arg(self.folder.path().join("enrolment"))
            .arg("--profiles")
            .arg(self.folder.path().join("profiles"))
            .arg("--state")
            .arg(self.folder.path().join("state"))
            .arg("--codex")
            .arg(&self.codex)
            .env_clear()
            .env("PATH", keep("PATH"))
            .env("RUST_LOG", "trace")
            .stdin(Stdio::null());
        Running::start_logging(&mut command, Stdio::from(log))
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("runner.log")
    }

    /// Makes a run of the profile and returns its id.
    pub(crate) fn run(&self) -> String {
        let name = format!("guildhall-provider-{PROFILE}");
        let wanted = CreateRun {
            tenant_id: "acme".to_owned(),
            project_id: "default".to_owned(),
            workspace_ref: json!({ "kind": "empty" }),
            provider_id: "local".to_owned(),
            backend_profile: PROFILE.to_owned(),
            execution_policy: Some(json!({
                "sandbox": "workspace-write",
                "secretScope": { "providerCredentials": [{ "name": name, "keys": ["credential"] }] },
            })),
            trace_sink: Value::Null,
            session_ref: None,
        };
        self.runtime.block_on(self.client.create_run(&wanted, None)).expect("a run").run_id
    }

    /// Sends words to a run and watches the turn to its end.
    pub(crate) fn send(&self, run: &str, words: &str) -> Output {
        self.yard.user.run(&["runs", "send", run, words, "--watch"])
    }

    pub(crate) fn result(&self, run: &str) -> Value {
        self.yard.user.json(&["runs", "result", run])
    }
}

/// Tells a runner to stop and waits until it has.
pub(crate) fn dismiss(mut runner: Running) {
    runner.signal(Signal::TERM);
    assert!(runner.wait().success());
}

/// Returns the runner's program, which stands beside the command's.
pub(crate) fn program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_guildhall")).with_file_name("guildhall-runner");
    assert!(program.is_file(), "there is no {}: cargo build -p guildhall-runner", program.display());
    program
}

fn private(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set");
}
