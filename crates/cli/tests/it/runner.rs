//! A real runner with the backend that needs no model, driven from the command line.

use std::time::Duration;

use guildhall_runner::backend::choose::Backends;
use guildhall_runner::serve::{Options, Served, serve};
use guildhall_sdk::Client;
use guildhall_sdk::runner::RunnerClient;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::support::runner::Yard;
use crate::support::user::Server;

/// Serves one run on a thread of its own until told to stop.
struct Serving {
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<Served>>,
    _state: tempfile::TempDir,
}

impl Serving {
    fn start(server: &Server, yard: &Yard) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let options = Options {
            name: "test".into(),
            profiles: vec!["demo".into()],
            backends: Backends::default(),
            run: None,
            state: state.path().to_owned(),
            idle: Duration::from_secs(60),
            claim_within: Duration::from_secs(60),
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
        Self { stop, thread: Some(thread), _state: state }
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
