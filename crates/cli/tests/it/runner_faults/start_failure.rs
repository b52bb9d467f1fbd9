//! A backend that fails to start, and a provider that fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::agent::Agent;
use super::fixture::RunnerFixture;

// covers: R12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stderr_of_a_backend_that_fails_to_start_is_in_the_run() {
    let mut fixture = RunnerFixture::start().await;
    fixture.codex = fixture.folder.path().join("codex");
    fs::write(&fixture.codex, "#!/bin/sh\necho 'startup failed' >&2\nexit 3\n").expect("written");
    fs::set_permissions(&fixture.codex, fs::Permissions::from_mode(0o755)).expect("set");
    let run = fixture.create_run_for(Agent::Codex).await;
    let _runner = fixture.start_runner(&run, &[]);
    let command = fixture.send(&run, "hello").await;
    let result = fixture.wait_for_result(&run, &command, Duration::from_secs(30)).await;
    assert_eq!(
        (&result["terminalStatus"], &result["failureKind"]),
        (&"failed".into(), &"backend-failed".into())
    );
    let payload = fixture.wait_for_phase(&run, "backend-ended", Duration::from_secs(1)).await;
    assert_eq!(payload["detail"]["stderr"], "startup failed\n", "{payload}");
}

// covers: R12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn result_has_the_failure_kind_of_the_failing_provider() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run_for(Agent::Codex).await;
    let _runner = fixture.start_runner(&run, &[]);
    // The model answers these prompts with HTTP 401 and 500.
    for (prompt, kind) in [("r401", "provider-auth-failed"), ("boom", "provider-unavailable")] {
        let command = fixture.send(&run, prompt).await;
        let result = fixture.wait_for_result(&run, &command, Duration::from_secs(60)).await;
        assert_eq!(
            (&result["terminalStatus"], &result["failureKind"]),
            (&"failed".into(), &kind.into()),
            "{result}"
        );
    }
}

/// The storage of the session is there, but Codex has lost the thread in it.
// covers: R12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_thread_of_an_existing_session_is_a_resume_failure() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run_for(Agent::Codex).await;
    let mut runner = fixture.start_runner(&run, &["--idle-seconds", "1"]);
    fixture.complete_turn(&run, "hello").await;
    assert!(runner.process.wait().success(), "{}", runner.log_text());
    let codex = fixture.state_folder().join("sessions").join(&run.session).join("codex");
    fs::remove_dir_all(&codex).expect("Codex stores its threads there");
    let _second = fixture.start_runner(&run, &[]);
    let command = fixture.send(&run, "hello again").await;
    let result = fixture.wait_for_result(&run, &command, Duration::from_secs(60)).await;
    assert_eq!(
        (&result["terminalStatus"], &result["failureKind"]),
        (&"failed".into(), &"thread-resume-failed".into()),
        "{result}"
    );
}
