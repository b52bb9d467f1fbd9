//! A real runner with the backend that needs no model, driven from the command line.

use std::path::Path;
use std::time::{Duration, Instant};

use guildhall_runner::backend::choose::Backends;
use guildhall_runner::child::OutOfReach;
use guildhall_runner::guard::Leash;
use guildhall_runner::serve::{Options, Served, serve};
use guildhall_sdk::Client;
use guildhall_sdk::runner::RunnerClient;
use secrecy::SecretString;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::support::runner::Yard;
use crate::support::user::Server;

/// Serves one run on a thread of its own until told to stop.
struct Serving {
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<Served>>,
    state: Option<tempfile::TempDir>,
}

impl Serving {
    fn start(server: &Server, yard: &Yard) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let mut serving = Self::start_in(server, yard, state.path(), &[]);
        serving.state = Some(state);
        serving
    }

    /// Serves in a state folder that another has served in.
    fn start_in(server: &Server, yard: &Yard, state: &Path, roots: &[&Path]) -> Self {
        let options = Options {
            name: "test".into(),
            profiles: vec!["demo".into()],
            backends: Backends::default(),
            run: None,
            state: state.to_owned(),
            out_of_reach: OutOfReach::default(),
            workspace_roots: roots.iter().map(|root| root.to_path_buf()).collect(),
            idle: Duration::from_secs(60),
            claim_within: Duration::from_secs(60),
            drain_within: Duration::from_secs(25),
            leash: Leash::default(),
        };
        let client = Client::new(&server.url).expect("an address");
        let client = RunnerClient::new(client, SecretString::from(yard.enrolment.clone()));
        let stop = CancellationToken::new();
        let told = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(&client, &options, &told)).expect("served")
        });
        Self { stop, thread: Some(thread), state: None }
    }

    /// Waits until the server has heard of a session's storage, and returns what it knows.
    fn stored(yard: &Yard, session: &str) -> Value {
        let began = Instant::now();
        loop {
            let shown = yard.user.json(&["sessions", "storage", session]);
            if shown["storageKind"] == "directory" {
                return shown;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the thread, which is expected to fail.
    fn failed(mut self) -> bool {
        self.thread.take().expect("once").join().is_err()
    }

    fn end(mut self) -> Served {
        self.stop.cancel();
        self.thread.take().expect("once").join().expect("no panic")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[test]
fn a_waiting_runner_takes_a_new_run_at_once_and_the_thread_goes_on_with_the_next_turn() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let serving = Serving::start(&server, &yard);
    let watched = yard.user.run(&["runs", "create", "tidy my notes", "--watch"]);
    let said = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert_eq!(watched.status.code(), Some(0), "{said} {}", String::from_utf8_lossy(&watched.stderr));
    assert!(
        said.contains("You said: \"tidy my notes\"") && said.contains("tool shell: ls -la ... completed"),
        "{said}"
    );
    assert!(said.trim_end().ends_with("completed"), "{said}");
    let runs = yard.user.json(&["runs", "ls"]);
    let run = runs["runs"][0]["runId"].as_str().expect("a run").to_owned();
    let again = yard.user.run(&["runs", "send", &run, "run:cat notes.md", "--watch"]);
    let said = String::from_utf8_lossy(&again.stdout).into_owned();
    assert_eq!(again.status.code(), Some(0), "{said} {}", String::from_utf8_lossy(&again.stderr));
    let result = yard.user.json(&["runs", "result", &run]);
    assert_eq!(result["reply"], "It ended with 0.", "{result}");
    assert_eq!(result["toolCallSummary"]["exitCodeCounts"]["0"], 1, "{result}");
    let failed = yard.user.run(&["runs", "send", &run, "r401", "--watch"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(yard.user.json(&["runs", "result", &run])["failureKind"], "provider-auth-failed");
    assert_eq!(serving.end(), Served::Released);
    assert_eq!(yard.user.json(&["runs", "show", &run])["status"], "pending", "the next runner need not wait");
}

#[test]
fn a_run_that_cannot_be_served_says_why_and_does_not_go_from_runner_to_runner() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let serving = Serving::start(&server, &yard);
    let workspace = "git:https://git.example.org/acme/web";
    let watched = yard.user.run(&["runs", "create", "go", "--workspace", workspace, "--watch"]);
    let said = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert_eq!(watched.status.code(), Some(1), "{said} {}", String::from_utf8_lossy(&watched.stderr));
    assert!(said.contains("the runner cannot serve this run"), "{said}");
    assert!(serving.failed(), "a runner that cannot serve ends with an error");
    let runs = yard.user.json(&["runs", "ls", "--all"]);
    assert_eq!(runs["runs"][0]["failureKind"], "infra-failed", "{runs}");
}

// covers: R21
#[test]
fn a_session_whose_storage_is_gone_says_so_and_keeps_its_workspace() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let serving = Serving::start(&server, &yard);
    let watched = yard.user.run(&["runs", "create", "run:touch kept.md", "--watch"]);
    assert_eq!(watched.status.code(), Some(0), "{}", String::from_utf8_lossy(&watched.stderr));
    let first = yard.user.json(&["runs", "ls"])["runs"][0].clone();
    let (run, session) =
        (first["runId"].as_str().expect("a run"), first["sessionId"].as_str().expect("a session"));
    let result = yard.user.json(&["runs", "result", run]);
    assert_eq!(result["artifactSummary"]["items"][0]["path"], "kept.md", "{result}");
    let stored = Serving::stored(&yard, session);
    assert!(stored["filesCount"].as_i64().is_some_and(|files| files > 0), "{stored}");
    assert_eq!(stored["sha256"].as_str().map(str::len), Some(64), "{stored}");
    yard.user.json(&["runs", "cancel", run]);
    let state = serving.state.as_ref().expect("its own").path().to_owned();
    std::fs::remove_dir_all(state.join("sessions").join(session)).expect("it stood there");
    let again = Serving::start_in(&server, &yard, &state, &[]);
    let watched = yard.user.run(&["runs", "create", "and now the rest", "--session", session, "--watch"]);
    assert_eq!(watched.status.code(), Some(1), "{}", String::from_utf8_lossy(&watched.stdout));
    let runs = yard.user.json(&["runs", "ls", "--all"]);
    let result = yard.user.json(&["runs", "result", runs["runs"][0]["runId"].as_str().expect("a run")]);
    assert_eq!(result["failureKind"], "session-store-evicted", "{result}");
    assert!(state.join("workspaces").join(session).join("kept.md").exists(), "the workspace stays");
    let run = runs["runs"][0]["runId"].as_str().expect("a run");
    yard.user.json(&["runs", "cancel", run]);
    let evicted = yard.user.json(&["sessions", "evict", session]);
    assert_eq!(evicted["storageKind"], "evicted", "{evicted}");
    let refused = yard.user.run(&["runs", "create", "once more", "--session", session]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("evicted"), "{refused:?}");
    again.end();
    serving.end();
}

#[test]
fn a_run_works_in_a_checkout_of_a_repository_that_the_operator_opened_and_in_no_other() {
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
    let server = Server::ephemeral_with(&[("GUILDHALL_RUNS_DIRECTORIES", &allowed)]);
    let yard = Yard::new(&server);
    let (open, state) = (folder.path().join("open"), folder.path().join("state"));
    let serving = Serving::start_in(&server, &yard, &state, &[&open]);
    let workspace = format!("git:{}#main", repository.display());
    let prompt = "run:grep -q repository notes.txt && echo more > notes.txt";
    let watched = yard.user.run(&["runs", "create", prompt, "--workspace", &workspace, "--watch"]);
    let said = String::from_utf8_lossy(&watched.stdout).into_owned();
    assert_eq!(watched.status.code(), Some(0), "{said} {}", String::from_utf8_lossy(&watched.stderr));
    let runs = yard.user.json(&["runs", "ls"]);
    let result = yard.user.json(&["runs", "result", runs["runs"][0]["runId"].as_str().expect("a run")]);
    assert_eq!(result["toolCallSummary"]["exitCodeCounts"]["0"], 1, "{result}");
    assert_eq!(result["artifactSummary"]["items"][0]["path"], "notes.txt", "{result}");
    let kept = std::fs::read_to_string(repository.join("notes.txt")).expect("there");
    assert_eq!(kept, "of the repository", "the agent works in a copy");
    serving.end();
    // The server would allow it; the runner's machine does not.
    let serving = Serving::start_in(&server, &yard, &state, &[&folder.path().join("elsewhere")]);
    let watched = yard.user.run(&["runs", "create", "go", "--workspace", &workspace, "--watch"]);
    assert_eq!(watched.status.code(), Some(1), "{}", String::from_utf8_lossy(&watched.stdout));
    assert!(serving.failed(), "a runner that cannot serve ends with an error");
}
