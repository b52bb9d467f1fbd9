//! Two replicas, a tenant, and runners that share a state folder as those of one machine do.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use guildhall_testkit::FakeModel;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agent::{Agent, private};
use super::process::Runner;
use crate::support::fleet::Fleet;

pub(super) struct World {
    pub(super) fleet: Fleet,
    pub(super) folder: TempDir,
    /// The program that runners take for Codex.
    pub(super) codex: PathBuf,
    pub(super) model: FakeModel,
    tenant: String,
    pub(super) bearer: String,
    made: AtomicU32,
}

/// A run, and where its agent works.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) workspace: PathBuf,
    agent: Agent,
}

impl World {
    /// Starts everything, with leases so short that nobody waits for long.
    pub(super) async fn start() -> Self {
        Self::start_with("127.0.0.1", "6s").await
    }

    pub(super) async fn start_with(host: &str, lease: &'static str) -> Self {
        let environment = [
            ("GUILDHALL_RUNS_LEASE", lease),
            ("GUILDHALL_RUNS_LEASE_GRACE", "1s"),
            ("GUILDHALL_RUNS_TEND_EVERY", "500ms"),
            ("GUILDHALL_RUNS_SANDBOX", "danger-full-access"),
        ];
        let fleet = Fleet::start_on(host, &environment).await;
        let access = fleet.operator().await;
        let (tenant, bearer) = fleet.tenant(&access, "acme").await;
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let made = fleet.make(0, &path, &access, "enrolment", &json!({ "name": "runners" })).await;
        let folder = tempfile::Builder::new().prefix("guildhall-faults-").tempdir().expect("a folder");
        let made = made.expect("made");
        private(&folder.path().join("enrolment"), made["secret"].as_str().expect("a secret"));
        let model = FakeModel::start().await;
        for agent in Agent::ALL {
            agent.describe(&folder.path().join("profiles"), &model.base_url());
        }
        let codex = guildhall_testkit::codex();
        Self { fleet, folder, codex, model, tenant, bearer, made: AtomicU32::new(0) }
    }

    fn next(&self) -> u32 {
        self.made.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Returns a command for a runner of one run, which finds the server at an address.
    pub(super) fn runner_command(&self, url: &str, run: &Run, arguments: &[&str]) -> Command {
        let of_run = ["--run", &run.id, "--profile", run.agent.profile()];
        self.command(url, &[&of_run, arguments].concat())
    }

    fn command(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(["--url", url, "--enrolment-file"])
            .arg(self.folder.path().join("enrolment"))
            .arg("--state")
            .arg(self.state())
            .arg("--profiles")
            .arg(self.folder.path().join("profiles"))
            .arg("--codex")
            .arg(&self.codex)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }

    /// Starts a runner of one run.
    pub(super) fn runner(&self, run: &Run, arguments: &[&str]) -> Runner {
        self.runner_at(&self.fleet.url(0, ""), run, arguments)
    }

    pub(super) fn runner_at(&self, url: &str, run: &Run, arguments: &[&str]) -> Runner {
        Runner::start(&mut self.runner_command(url, run, arguments), self.log())
    }

    /// Starts a runner that takes whatever run has waited longest for the backend without a model.
    pub(super) fn warm_runner(&self, arguments: &[&str]) -> Runner {
        Runner::start(&mut self.command(&self.fleet.url(0, ""), arguments), self.log())
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.path().join(format!("runner-{}.log", self.next()))
    }

    pub(super) async fn run(&self) -> Run {
        self.run_of(Agent::Script).await
    }

    pub(super) async fn run_of(&self, agent: Agent) -> Run {
        let ask = json!({
            "tenantId": self.tenant, "projectId": "acme/web", "workspaceRef": { "kind": "empty" },
            "providerId": "local", "backendProfile": agent.profile(), "executionPolicy": agent.policy(),
            "traceSink": null,
        });
        let made = self.make("/api/v1/runs", &ask).await;
        let text = |name: &str| made[name].as_str().expect("an id").to_owned();
        let (id, session) = (text("runId"), text("sessionId"));
        let workspace = self.state().join("workspaces").join(&session);
        Run { id, session, workspace, agent }
    }

    async fn make(&self, path: &str, body: &Value) -> Value {
        let key = format!("made-{}", self.next());
        let made = self.fleet.make(1, path, &self.bearer, &key, body).await;
        made.unwrap_or_else(|| panic!("{path} was not made"))
    }

    /// Sends words to a run and returns the command.
    pub(super) async fn send(&self, run: &Run, words: &str) -> String {
        let turn = json!({ "type": "turn", "payload": { "prompt": words } });
        let made = self.make(&format!("/api/v1/runs/{}/commands", run.id), &turn).await;
        made["commandId"].as_str().expect("an id").to_owned()
    }

    pub(super) async fn cancel(&self, command: &str) {
        let path = format!("/api/v1/commands/{command}/cancel");
        let answer = self.fleet.request(1, Method::POST, &path, &self.bearer).json(&json!({})).send().await;
        assert!(answer.expect("an answer").status().is_success());
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let answer = self.fleet.request(1, Method::GET, path, &self.bearer).send().await.expect("an answer");
        let (status, body): (_, Value) = (answer.status(), answer.json().await.expect("JSON"));
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Waits until a command has ended and returns its result.
    pub(super) async fn ended(&self, run: &Run, command: &str, within: Duration) -> Value {
        let deadline = Instant::now() + within;
        let path = format!("/api/v1/runs/{}/commands/{command}/result", run.id);
        loop {
            let result = self.get(&path).await;
            if !result["terminalStatus"].is_null() {
                return result;
            }
            assert!(Instant::now() < deadline, "{command} has not ended after {within:?}: {result}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Works through a turn to its good end.
    pub(super) async fn works(&self, run: &Run, words: &str) -> Value {
        let command = self.send(run, words).await;
        let result = self.ended(run, &command, Duration::from_secs(60)).await;
        assert_eq!(result["terminalStatus"], "completed", "{result}");
        result
    }

    /// Reads all events of a run, and holds their numbers against what was promised: from one on, without a gap.
    pub(super) async fn events(&self, run: &Run) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = self.get(&format!("/api/v1/runs/{}/events?afterSeq={after}&limit=200", run.id)).await;
            all.extend(page["events"].as_array().expect("events").clone());
            after = page["nextAfterSeq"].as_i64().expect("a number");
            if page["hasMore"] == false {
                break;
            }
        }
        let seqs: Vec<_> = all.iter().map(|event| event["seq"].as_i64().expect("a number")).collect();
        assert_eq!(seqs, (1..=i64::try_from(all.len()).expect("few")).collect::<Vec<_>>());
        all
    }

    /// Waits for what a runner or the server says of a phase, and returns its payload.
    pub(super) async fn phase(&self, run: &Run, phase: &str, within: Duration) -> Value {
        let deadline = Instant::now() + within;
        loop {
            let events = self.events(run).await;
            if let Some(payload) = phases(&events, phase).pop() {
                return payload;
            }
            assert!(Instant::now() < deadline, "no {phase} after {within:?}: {events:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Returns the thread that the session's next command resumes.
    pub(super) async fn thread(&self, run: &Run) -> String {
        let id = &run.session[4..];
        let sql =
            format!("SELECT coalesce(thread_id, '') FROM sessions WHERE replace(id::text, '-', '') = '{id}'");
        self.fleet.db.sql().await.texts(sql).await.pop().expect("a session")
    }
}

/// Returns the payloads of one phase.
pub(super) fn phases(events: &[Value], phase: &str) -> Vec<Value> {
    let payloads = events.iter().map(|event| &event["payload"]);
    payloads.filter(|payload| payload["phase"] == phase).cloned().collect()
}

/// Returns the runner's program, which stands beside the command's.
pub(super) fn program() -> PathBuf {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_guildhall")).with_file_name("guildhall-runner");
    assert!(program.is_file(), "there is no {}: cargo build -p guildhall-runner", program.display());
    program
}
