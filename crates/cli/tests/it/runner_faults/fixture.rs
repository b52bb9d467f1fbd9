//! Two replicas, a tenant, and runners that share a state folder like those of one machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use guildhall_testkit::{FakeModel, Stopwatch};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agent::Agent;
use crate::support::agent::{runner_program, write_private};
use crate::support::cluster::Cluster;
use crate::support::runner_process::RunnerProcess;

pub(super) struct RunnerFixture {
    pub(super) cluster: Cluster,
    pub(super) folder: TempDir,
    /// The program that runners start as Codex.
    pub(super) codex: PathBuf,
    pub(super) model: FakeModel,
    tenant: String,
    pub(super) bearer: String,
    counter: AtomicU32,
}

/// A run and the workspace of its agent.
#[derive(Debug, Clone)]
pub(super) struct TestRun {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) workspace: PathBuf,
    agent: Agent,
}

impl RunnerFixture {
    /// Starts everything with short leases.
    pub(super) async fn start() -> Self {
        Self::start_with("127.0.0.1", super::LEASE_SETTING).await
    }

    pub(super) async fn start_with(host: &str, lease: &'static str) -> Self {
        let environment = [
            ("GUILDHALL_RUNS_LEASE", lease),
            ("GUILDHALL_RUNS_LEASE_GRACE", "1s"),
            ("GUILDHALL_RUNS_TEND_EVERY", "500ms"),
            ("GUILDHALL_RUNS_SANDBOX", "danger-full-access"),
        ];
        let cluster = Cluster::start_on(host, &environment).await;
        let access = cluster.create_operator().await;
        let (tenant, bearer) = cluster.create_tenant(&access, "acme").await;
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let created = cluster.create(0, &path, &access, "enrolment", &json!({ "name": "runners" })).await;
        let folder = tempfile::Builder::new().prefix("guildhall-faults-").tempdir().expect("a folder");
        let created = created.expect("created");
        write_private(&folder.path().join("enrolment"), created["secret"].as_str().expect("a secret"));
        let model = FakeModel::start().await;
        for agent in Agent::ALL {
            agent.write_profile(&folder.path().join("profiles"), &model.base_url());
            // Runs are created before the runners of their profile register.
            let profile = agent.profile_name();
            let body = json!({ "name": profile, "profile": profile });
            let enrolment = cluster.create(0, &path, &access, &format!("enrolment-{profile}"), &body).await;
            assert!(enrolment.is_some(), "no enrolment for {profile}");
        }
        let codex = guildhall_testkit::codex_program();
        Self { cluster, folder, codex, model, tenant, bearer, counter: AtomicU32::new(0) }
    }

    fn next_number(&self) -> u32 {
        self.counter.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn state_folder(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Returns the command of a runner for one run and a server URL.
    pub(super) fn runner_command(&self, url: &str, run: &TestRun, arguments: &[&str]) -> Command {
        let run_arguments = ["--run", &run.id, "--profile", run.agent.profile_name()];
        self.command(url, &[&run_arguments, arguments].concat())
    }

    fn command(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(runner_program());
        command
            .args(["--url", url, "--enrolment-file"])
            .arg(self.folder.path().join("enrolment"))
            .arg("--state")
            .arg(self.state_folder())
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

    /// Starts a runner for one run.
    pub(super) fn start_runner(&self, run: &TestRun, arguments: &[&str]) -> RunnerProcess {
        self.start_runner_at(&self.cluster.url(0, ""), run, arguments)
    }

    pub(super) fn start_runner_at(&self, url: &str, run: &TestRun, arguments: &[&str]) -> RunnerProcess {
        RunnerProcess::start(&mut self.runner_command(url, run, arguments), self.new_log_path())
    }

    /// Starts a runner that claims the oldest waiting run of the demo profile.
    pub(super) fn start_warm_runner(&self, arguments: &[&str]) -> RunnerProcess {
        self.start_warm_runner_at(&self.cluster.url(0, ""), arguments)
    }

    pub(super) fn start_warm_runner_at(&self, url: &str, arguments: &[&str]) -> RunnerProcess {
        RunnerProcess::start(&mut self.command(url, arguments), self.new_log_path())
    }

    pub(super) fn new_log_path(&self) -> PathBuf {
        self.folder.path().join(format!("runner-{}.log", self.next_number()))
    }

    pub(super) async fn create_run(&self) -> TestRun {
        self.create_run_for(Agent::Script).await
    }

    pub(super) async fn create_run_for(&self, agent: Agent) -> TestRun {
        self.create_run_with(agent, agent.policy()).await
    }

    pub(super) async fn create_run_with(&self, agent: Agent, policy: Value) -> TestRun {
        let body = json!({
            "tenantId": self.tenant, "projectId": "acme/web", "workspaceRef": { "kind": "empty" },
            "providerId": "local", "backendProfile": agent.profile_name(), "executionPolicy": policy,
            "traceSink": null,
        });
        let created = self.create("/api/v1/runs", &body).await;
        let text = |name: &str| created[name].as_str().expect("an id").to_owned();
        let (id, session) = (text("runId"), text("sessionId"));
        let workspace = self.state_folder().join("workspaces").join(&session);
        TestRun { id, session, workspace, agent }
    }

    async fn create(&self, path: &str, body: &Value) -> Value {
        let key = format!("key-{}", self.next_number());
        let created = self.cluster.create(1, path, &self.bearer, &key, body).await;
        created.unwrap_or_else(|| panic!("{path} was not created"))
    }

    /// Sends a prompt to a run and returns the command id.
    pub(super) async fn send(&self, run: &TestRun, prompt: &str) -> String {
        let turn = json!({ "type": "turn", "payload": { "prompt": prompt } });
        let created = self.create(&format!("/api/v1/runs/{}/commands", run.id), &turn).await;
        created["commandId"].as_str().expect("an id").to_owned()
    }

    pub(super) async fn cancel(&self, command: &str) {
        let path = format!("/api/v1/commands/{command}/cancel");
        let response =
            self.cluster.request(1, Method::POST, &path, &self.bearer).json(&json!({})).send().await;
        assert!(response.expect("a response").status().is_success());
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let response =
            self.cluster.request(1, Method::GET, path, &self.bearer).send().await.expect("a response");
        let (status, body): (_, Value) = (response.status(), response.json().await.expect("JSON"));
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Waits for a command to end and returns its result.
    pub(super) async fn wait_for_result(&self, run: &TestRun, command: &str, timeout: Duration) -> Value {
        let started = Stopwatch::start();
        let path = format!("/api/v1/runs/{}/commands/{command}/result", run.id);
        loop {
            let result = self.get(&path).await;
            if !result["terminalStatus"].is_null() {
                return result;
            }
            assert!(started.elapsed() < timeout, "{command} has not ended after {timeout:?}: {result}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Sends a prompt and waits until the turn has completed.
    pub(super) async fn complete_turn(&self, run: &TestRun, prompt: &str) -> Value {
        let command = self.send(run, prompt).await;
        let result = self.wait_for_result(run, &command, Duration::from_secs(60)).await;
        assert_eq!(result["terminalStatus"], "completed", "{result}");
        result
    }

    /// Reads all events of a run. Asserts that their sequence numbers start at 1 and have no gap.
    pub(super) async fn events(&self, run: &TestRun) -> Vec<Value> {
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
        assert_eq!(seqs, (1..=i64::try_from(all.len()).expect("fits in i64")).collect::<Vec<_>>());
        all
    }

    /// Waits for an event of a phase and returns its payload.
    pub(super) async fn wait_for_phase(&self, run: &TestRun, phase: &str, timeout: Duration) -> Value {
        let started = Stopwatch::start();
        loop {
            let events = self.events(run).await;
            if let Some(payload) = phase_payloads(&events, phase).pop() {
                return payload;
            }
            assert!(started.elapsed() < timeout, "no {phase} after {timeout:?}: {events:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the command has printed a text. An event may end anywhere in it.
    pub(super) async fn wait_for_output(&self, run: &TestRun, command: &str, text: &str) {
        let has_text = |events: &[Value]| {
            let of_command = events.iter().filter(|event| event["commandId"] == command);
            let texts = of_command.filter_map(|event| event["payload"]["text"].as_str());
            texts.collect::<String>().contains(text)
        };
        self.wait_for_events(run, has_text).await;
    }

    /// Waits until the events of a run meet a condition, and returns them.
    pub(super) async fn wait_for_events(
        &self,
        run: &TestRun,
        condition: impl Fn(&[Value]) -> bool,
    ) -> Vec<Value> {
        let started = Stopwatch::start();
        loop {
            let events = self.events(run).await;
            if condition(&events) {
                return events;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "the condition is not met: {events:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Returns the id of the thread that the session's next command resumes.
    pub(super) async fn thread_id(&self, run: &TestRun) -> String {
        let id = &run.session[4..];
        let sql =
            format!("SELECT coalesce(thread_id, '') FROM sessions WHERE replace(id::text, '-', '') = '{id}'");
        self.cluster.db.sql().await.texts(sql).await.pop().expect("a session")
    }
}

/// Returns the payloads of the events of one phase.
pub(super) fn phase_payloads(events: &[Value], phase: &str) -> Vec<Value> {
    let payloads = events.iter().map(|event| &event["payload"]);
    payloads.filter(|payload| payload["phase"] == phase).cloned().collect()
}
