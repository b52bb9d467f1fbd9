//! The runner binary with the profile of a real agent and a fake model.

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

use super::ChildProcess;
use super::runner::{TenantFixture, string_field};
use super::user::{DevServer, stdout};

/// Name of the profile.
const PROFILE: &str = "mine";

/// A server, a fake model, and a folder with one profile for the runners.
pub(crate) struct AgentFixture {
    pub(crate) url: String,
    pub(crate) tenant: TenantFixture,
    pub(crate) model: FakeModel,
    pub(crate) folder: TempDir,
    /// The program that runners start as Codex.
    pub(crate) codex: PathBuf,
    client: Client,
    runtime: Runtime,
    _server: Option<DevServer>,
}

impl AgentFixture {
    /// Starts everything except the runner. `make_profile` returns the profile for the model's base URL.
    pub(crate) fn start(credential: &str, make_profile: impl FnOnce(String) -> Profile) -> Self {
        let server = DevServer::ephemeral();
        let tenant = TenantFixture::new(&server);
        let fixture = Self::start_on(server.url.clone(), tenant, credential, make_profile);
        Self { _server: Some(server), ..fixture }
    }

    /// Uses a server that is already running.
    pub(crate) fn start_on(
        url: String,
        tenant: TenantFixture,
        credential: &str,
        make_profile: impl FnOnce(String) -> Profile,
    ) -> Self {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let runtime = Runtime::new().expect("a runtime");
        let model = runtime.block_on(FakeModel::start());
        let key = tenant.user.json(&["keys", "create", "test", "--role", "developer", "--tenant", "acme"]);
        let key = SecretString::from(string_field(&key, "secret"));
        let client = Client::new(&url).expect("a valid URL").with_tokens(Arc::new(key));
        let folder = tempfile::Builder::new().prefix("guildhall-agent-").tempdir().expect("a folder");
        let profile = folder.path().join("profiles").join(PROFILE);
        fs::create_dir_all(&profile).expect("a folder");
        write_private(&profile.join("profile.toml"), &make_profile(model.base_url()).to_toml());
        write_private(&profile.join("credential"), credential);
        write_private(&folder.path().join("enrolment"), &tenant.enrolment_token);
        let codex = guildhall_testkit::codex_program();
        Self { url, tenant, model, folder, codex, client, runtime, _server: None }
    }

    /// Starts a one-shot runner that logs to a file, in the fixture's folder and with relative paths, as in the guide.
    pub(crate) fn start_runner(&self) -> ChildProcess {
        let log = fs::File::create(self.log_path()).expect("a log");
        let mut command = Command::new(runner_program());
        let env_var = |name: &str| std::env::var_os(name).unwrap_or_default();
        command
            .args(["--url", &self.url, "--profile", PROFILE, "--one-shot"])
            .args(["--enrolment-file", "enrolment", "--profiles", "profiles"])
            .current_dir(self.folder.path())
            .arg("--codex")
            .arg(&self.codex)
            // A test may start an agent through a wrapper.
            .arg("--tool")
            .arg(guildhall_testkit::node_modules())
            .env_clear()
            .env("PATH", env_var("PATH"))
            .env("RUST_LOG", "trace")
            .stdin(Stdio::null());
        ChildProcess::start_with_stderr(&mut command, Stdio::from(log))
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.path().join("runner.log")
    }

    /// Creates a run with the profile and returns its id.
    pub(crate) fn create_run(&self) -> String {
        let name = format!("guildhall-provider-{PROFILE}");
        let request = CreateRun {
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
            idempotency_key: None,
        };
        self.runtime.block_on(self.client.create_run(&request, None)).expect("a run").run_id
    }

    /// Sends a prompt to a run and watches the turn until it ends.
    pub(crate) fn send_and_watch(&self, run: &str, prompt: &str) -> Output {
        self.tenant.user.run(&["runs", "send", run, prompt, "--watch"])
    }

    /// Returns the payloads of the events of one type.
    pub(crate) fn payloads(&self, run: &str, kind: &str) -> Vec<Value> {
        let events = self.tenant.user.run(&["runs", "events", run, "--json"]);
        let events = stdout(&events);
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        events.filter(|event| event["type"] == kind).map(|event| event["payload"].clone()).collect()
    }

    /// Asserts that the last turn reasoned about its prompt before each of its two responses, and that its tool call has
    /// these arguments.
    pub(crate) fn assert_reasoning_and_arguments(&self, run: &str, prompt: &str, arguments: &Value) {
        let reasoning = self.payloads(run, "reasoning");
        let text = format!("The user wants:\n\n{prompt}");
        let expected = |id: &Value| json!({ "itemId": id, "text": text, "textTruncated": false });
        let ids: Vec<_> = reasoning.iter().map(|payload| &payload["itemId"]).collect();
        assert_eq!(reasoning, ids.iter().map(|id| expected(id)).collect::<Vec<_>>());
        assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
        for id in ids {
            let deltas = self.payloads(run, "reasoning_delta").into_iter();
            let deltas = deltas.filter(|payload| payload["itemId"] == *id);
            let streamed: String =
                deltas.filter_map(|payload| payload["text"].as_str().map(str::to_owned)).collect();
            assert_eq!(streamed, text);
        }
        let calls = self.payloads(run, "tool_call");
        let start = calls.iter().rfind(|payload| payload["status"] == "started").expect("a tool call");
        assert_eq!(&start["arguments"], arguments, "{calls:?}");
    }

    pub(crate) fn result(&self, run: &str) -> Value {
        self.tenant.user.json(&["runs", "result", run])
    }
}

/// Starts the runner program for the demo agent, with more arguments.
pub(crate) fn start_demo_runner(
    server: &DevServer,
    tenant: &TenantFixture,
    folder: &TempDir,
    args: &[&str],
) -> ChildProcess {
    write_private(&folder.path().join("enrolment"), &tenant.enrolment_token);
    let mut command = Command::new(runner_program());
    command
        .args(["--url", &server.url, "--enrolment-file", "enrolment", "--state", "state"])
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::null());
    ChildProcess::start_with_stderr(&mut command, Stdio::null())
}

/// Stops a runner with SIGTERM and waits until it exits.
pub(crate) fn stop_runner(mut runner: ChildProcess) {
    runner.signal(Signal::TERM);
    assert!(runner.wait().success());
}

/// Returns the path of the runner binary, next to the `guildhall` binary.
pub(crate) fn runner_program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_guildhall")).with_file_name("guildhall-runner");
    assert!(program.is_file(), "{} does not exist: run cargo build -p guildhall-runner", program.display());
    program
}

pub(crate) fn write_private(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set");
}
