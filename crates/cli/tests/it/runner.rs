//! An in-process runner with the demo backend, controlled through the CLI.

use std::path::Path;
use std::time::Duration;

use guildhall_runner::backend::select::BackendCatalog;
use guildhall_runner::guard::GuardLink;
use guildhall_runner::model_proxy::ModelCaps;
use guildhall_runner::sandbox::Containment;
use guildhall_runner::serve::{GitOptions, ServeOptions, ServeOutcome, register, serve};
use guildhall_sdk::Client;
use guildhall_sdk::runner::RunnerClient;
use guildhall_testkit::Stopwatch;
use secrecy::SecretString;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::support::runner::TenantFixture;
use crate::support::user::DevServer;

/// A runner on its own thread, stopped through a cancellation token.
pub(crate) struct InProcessRunner {
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<ServeOutcome>>,
    state: Option<tempfile::TempDir>,
}

impl InProcessRunner {
    pub(crate) fn start(server: &DevServer, fixture: &TenantFixture) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let mut runner = Self::start_in(server, fixture, state.path(), &[]);
        runner.state = Some(state);
        runner
    }

    /// Starts a runner in an existing state folder.
    fn start_in(server: &DevServer, fixture: &TenantFixture, state: &Path, roots: &[&Path]) -> Self {
        let options = ServeOptions {
            name: "test".into(),
            profiles: vec!["demo".into()],
            backends: BackendCatalog::default(),
            run: None,
            state: state.to_owned(),
            containment: Ok(Containment::Uncontained),
            allowed_hosts: Vec::new(),
            git: GitOptions::default(),
            model_caps: ModelCaps::default(),
            workspace_roots: roots.iter().map(|root| root.to_path_buf()).collect(),
            idle_timeout: Duration::from_secs(60),
            claim_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(25),
            guard: GuardLink::default(),
        };
        let client = Client::new(&server.url).expect("an address");
        let client = RunnerClient::new(client, SecretString::from(fixture.enrolment_token.clone()));
        let stop = CancellationToken::new();
        let stop_signal = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let runner = register(&client, &options, &stop_signal).await.expect("registered");
                let runner = runner.expect("a runner");
                serve(&client, runner, &options, &stop_signal)
                    .await
                    .expect("the runner exits without an error")
            })
        });
        Self { stop, thread: Some(thread), state: None }
    }

    /// Waits until the server knows the storage of a session, and returns it.
    fn wait_for_storage(fixture: &TenantFixture, session: &str) -> Value {
        let started = Stopwatch::start();
        loop {
            let storage = fixture.user.json(&["sessions", "storage", session]);
            if storage["storageKind"] == "directory" {
                return storage;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "{storage}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the thread and returns whether it failed.
    fn join_failed(mut self) -> bool {
        self.thread.take().expect("a running thread").join().is_err()
    }

    pub(crate) fn stop(mut self) -> ServeOutcome {
        self.stop.cancel();
        self.thread.take().expect("a running thread").join().expect("no panic")
    }
}

impl Drop for InProcessRunner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[test]
fn idle_runner_claims_a_new_run_and_continues_its_thread() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let runner = InProcessRunner::start(&server, &fixture);
    let watched = fixture.user.run(&["runs", "create", "tidy my notes", "--watch"]);
    let output = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert_eq!(watched.status.code(), Some(0), "{output} {}", String::from_utf8_lossy(&watched.stderr));
    assert!(
        output.contains("You said: \"tidy my notes\"") && output.contains("tool shell: ls -la ... completed"),
        "{output}"
    );
    assert!(output.trim_end().ends_with("completed"), "{output}");
    let runs = fixture.user.json(&["runs", "ls"]);
    let run = runs["runs"][0]["runId"].as_str().expect("a run").to_owned();
    let again = fixture.user.run(&["runs", "send", &run, "run:cat notes.md", "--watch"]);
    let output = String::from_utf8_lossy(&again.stdout).into_owned();
    assert_eq!(again.status.code(), Some(0), "{output} {}", String::from_utf8_lossy(&again.stderr));
    let result = fixture.user.json(&["runs", "result", &run]);
    assert_eq!(result["reply"], "It ended with 0.", "{result}");
    assert_eq!(result["toolCallSummary"]["exitCodeCounts"]["0"], 1, "{result}");
    let failed = fixture.user.run(&["runs", "send", &run, "r401", "--watch"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(fixture.user.json(&["runs", "result", &run])["failureKind"], "provider-auth-failed");
    assert_eq!(runner.stop(), ServeOutcome::Released);
    assert_eq!(
        fixture.user.json(&["runs", "show", &run])["status"],
        "pending",
        "the run is available for the next runner"
    );
}

#[test]
fn unservable_run_fails_with_its_reason_on_the_first_runner() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let runner = InProcessRunner::start(&server, &fixture);
    let workspace = "git:ssh://git@git.example.org/acme/web";
    let watched = fixture.user.run(&["runs", "create", "go", "--workspace", workspace, "--watch"]);
    let output = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert_eq!(watched.status.code(), Some(1), "{output} {}", String::from_utf8_lossy(&watched.stderr));
    assert!(output.contains("the runner cannot serve this run"), "{output}");
    assert!(runner.join_failed(), "a runner that cannot serve the run exits with an error");
    let runs = fixture.user.json(&["runs", "ls", "--all"]);
    assert_eq!(runs["runs"][0]["failureKind"], "tenant-policy-denied", "{runs}");
}

// covers: R5
#[test]
fn runner_refuses_a_directory_that_the_tenant_may_not_use_any_more() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().canonicalize().expect("a folder");
    for tenant in ["acme", "other"] {
        std::fs::create_dir(root.join(tenant)).expect("a folder");
    }
    let below = |name: &str| format!("{}/{name}*", root.display());
    let server = DevServer::ephemeral_with(&[("GUILDHALL_RUNS_DIRECTORIES", &below(""))]);
    let fixture = TenantFixture::new(&server);
    let workspace = |name: &str| root.join(name).display().to_string();
    let run_in = |name: &str| fixture.user.json(&["runs", "create", "go", "--workspace", &workspace(name)]);
    run_in("other");
    let shown = fixture.user.json(&[
        "tenants",
        "bounds",
        "set",
        "acme",
        "--directory",
        &below("ac"),
        "--turn-timeout",
        "10m",
    ]);
    assert_eq!(shown["effective"]["directories"], serde_json::json!([below("ac")]), "{shown}");
    assert_eq!(shown["effective"]["timeoutMs"], 600_000, "{shown}");
    let state = tempfile::tempdir().expect("a folder");
    let runner = InProcessRunner::start_in(&server, &fixture, state.path(), &[&root]);
    assert!(runner.join_failed(), "a runner that cannot serve the run exits with an error");
    let runs = fixture.user.json(&["runs", "ls", "--all"]);
    assert_eq!(runs["runs"][0]["failureKind"], "tenant-policy-denied", "{runs}");
    let refused = fixture.user.run(&["runs", "create", "go", "--workspace", &workspace("other")]);
    assert_ne!(refused.status.code(), Some(0), "the server refuses a new run");

    let runner = InProcessRunner::start_in(&server, &fixture, state.path(), &[&root]);
    let allowed = fixture.user.run(&["runs", "create", "go", "--workspace", &workspace("acme"), "--watch"]);
    assert_eq!(allowed.status.code(), Some(0), "{}", String::from_utf8_lossy(&allowed.stderr));
    assert_eq!(runner.stop(), ServeOutcome::Released);
    let table = fixture.user.run(&["tenants", "bounds", "show", "acme"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(
        table.lines().map(words).any(|row| row == ["directories", &below("ac"), &below("ac")]),
        "{table}"
    );
    let cleared = fixture.user.json(&["tenants", "bounds", "clear", "acme"]);
    assert_eq!(cleared["effective"]["directories"], serde_json::json!([below("")]), "{cleared}");
}

// covers: R21
#[test]
fn missing_session_storage_fails_the_run_and_keeps_the_workspace() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let runner = InProcessRunner::start(&server, &fixture);
    let watched = fixture.user.run(&["runs", "create", "run:touch kept.md", "--watch"]);
    assert_eq!(watched.status.code(), Some(0), "{}", String::from_utf8_lossy(&watched.stderr));
    let first = fixture.user.json(&["runs", "ls"])["runs"][0].clone();
    let (run, session) =
        (first["runId"].as_str().expect("a run"), first["sessionId"].as_str().expect("a session"));
    let result = fixture.user.json(&["runs", "result", run]);
    assert_eq!(result["artifactSummary"]["items"][0]["path"], "kept.md", "{result}");
    let stored = InProcessRunner::wait_for_storage(&fixture, session);
    assert!(stored["filesCount"].as_i64().is_some_and(|files| files > 0), "{stored}");
    assert_eq!(stored["sha256"].as_str().map(str::len), Some(64), "{stored}");
    fixture.user.json(&["runs", "cancel", run]);
    let state = runner.state.as_ref().expect("a state folder").path().to_owned();
    std::fs::remove_dir_all(state.join("sessions").join(session)).expect("the session folder exists");
    let second_runner = InProcessRunner::start_in(&server, &fixture, &state, &[]);
    let watched = fixture.user.run(&["runs", "create", "and now the rest", "--session", session, "--watch"]);
    assert_eq!(watched.status.code(), Some(1), "{}", String::from_utf8_lossy(&watched.stdout));
    let runs = fixture.user.json(&["runs", "ls", "--all"]);
    let result = fixture.user.json(&["runs", "result", runs["runs"][0]["runId"].as_str().expect("a run")]);
    assert_eq!(result["failureKind"], "session-store-evicted", "{result}");
    assert!(state.join("workspaces").join(session).join("kept.md").exists(), "the workspace stays");
    let run = runs["runs"][0]["runId"].as_str().expect("a run");
    fixture.user.json(&["runs", "cancel", run]);
    let evicted = fixture.user.json(&["sessions", "evict", session]);
    assert_eq!(evicted["storageKind"], "evicted", "{evicted}");
    let refused = fixture.user.run(&["runs", "create", "once more", "--session", session]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("evicted"), "{refused:?}");
    second_runner.stop();
    runner.stop();
}

#[test]
fn git_workspace_is_checked_out_only_from_allowed_directories() {
    let folder = tempfile::tempdir().expect("a folder");
    let repository = folder.path().join("open/repo");
    std::fs::create_dir_all(&repository).expect("a folder");
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
        let done = command.current_dir(&repository).env("GIT_CONFIG_GLOBAL", "/dev/null").status();
        assert!(done.expect("git").success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repository.join("notes.txt"), "of the repository").expect("a file");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    let allowed = format!("{}/*", folder.path().display());
    let server = DevServer::ephemeral_with(&[("GUILDHALL_RUNS_DIRECTORIES", &allowed)]);
    let fixture = TenantFixture::new(&server);
    let (open, state) = (folder.path().join("open"), folder.path().join("state"));
    let runner = InProcessRunner::start_in(&server, &fixture, &state, &[&open]);
    let workspace = format!("git:{}#main", repository.display());
    let prompt = "run:grep -q repository notes.txt && echo more > notes.txt";
    let watched = fixture.user.run(&["runs", "create", prompt, "--workspace", &workspace, "--watch"]);
    let output = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert_eq!(watched.status.code(), Some(0), "{output} {}", String::from_utf8_lossy(&watched.stderr));
    let runs = fixture.user.json(&["runs", "ls"]);
    let result = fixture.user.json(&["runs", "result", runs["runs"][0]["runId"].as_str().expect("a run")]);
    assert_eq!(result["toolCallSummary"]["exitCodeCounts"]["0"], 1, "{result}");
    assert_eq!(result["artifactSummary"]["items"][0]["path"], "notes.txt", "{result}");
    let content = std::fs::read_to_string(repository.join("notes.txt")).expect("a file");
    assert_eq!(content, "of the repository", "the agent works in a copy of the repository");
    runner.stop();
    // The server allows this directory, but the runner does not.
    let runner = InProcessRunner::start_in(&server, &fixture, &state, &[&folder.path().join("elsewhere")]);
    let watched = fixture.user.run(&["runs", "create", "go", "--workspace", &workspace, "--watch"]);
    assert_eq!(watched.status.code(), Some(1), "{}", String::from_utf8_lossy(&watched.stdout));
    assert!(runner.join_failed(), "a runner that cannot serve the run exits with an error");
}
