//! A runner exits: it is idle, it has served its only run, or it received SIGTERM.

use std::time::{Duration, Instant};

use guildhall_testkit::Stopwatch;
use rustix::process::Signal;

use super::fixture::{RunnerFixture, phase_payloads};
use crate::support::runner_process::{wait_for_pids, wait_until_exited};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_runner_releases_the_run_for_the_next_runner() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let mut runner = fixture.start_runner(&run, &["--idle-seconds", "1"]);
    fixture.complete_turn(&run, "run:true").await;
    assert!(runner.process.wait().success(), "{}", runner.log_text());
    assert!(runner.log_text().contains("the run was given back"), "{}", runner.log_text());
    let events = fixture.events(&run).await;
    assert_eq!(phase_payloads(&events, "runner-leaving")[0]["reason"], "idle", "{events:#?}");
    assert_eq!(fixture.get(&format!("/api/v1/runs/{}", run.id)).await["status"], "pending");
    let started = Stopwatch::start();
    let _next = fixture.start_runner(&run, &["--one-shot"]);
    fixture.complete_turn(&run, "run:true").await;
    assert!(started.elapsed() < super::LEASE, "the next runner waited {:?}", started.elapsed());
    let events = fixture.events(&run).await;
    assert_eq!(
        phase_payloads(&events, "lease-recovered"),
        Vec::<serde_json::Value>::new(),
        "a lease was recovered"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draining_runner_finishes_its_turn_and_leaves_the_next() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let mut runner = fixture.start_runner(&run, &[]);
    let command = fixture.send(&run, "run:echo $$ >> pids; sleep 2").await;
    wait_for_pids(&run.workspace.join("pids"), 1).await;
    let next_command = fixture.send(&run, "run:echo waited >> traces").await;
    runner.process.signal(Signal::TERM);
    let draining = fixture.wait_for_phase(&run, "runner-draining", Duration::from_secs(5)).await;
    assert_eq!(draining["withinMs"], 25_000, "{draining}");
    assert!(runner.process.wait().success(), "{}", runner.log_text());
    let result = fixture.wait_for_result(&run, &command, Duration::from_secs(1)).await;
    assert_eq!(result["terminalStatus"], "completed", "{result}");
    let command_view = fixture.get(&format!("/api/v1/runs/{}/commands/{next_command}", run.id)).await;
    assert_eq!(command_view["status"], "pending", "{command_view}");
    let _next = fixture.start_runner(&run, &[]);
    let result = fixture.wait_for_result(&run, &next_command, Duration::from_secs(20)).await;
    assert_eq!(result["terminalStatus"], "completed", "{result}");
    let events = fixture.events(&run).await;
    assert_eq!(phase_payloads(&events, "runner-leaving")[0]["reason"], "told-to-stop", "{events:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turn_longer_than_the_drain_timeout_is_interrupted() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let mut runner = fixture.start_runner(&run, &["--drain-seconds", "1"]);
    let command = fixture.send(&run, "run:echo $$ >> pids; sleep 60").await;
    let tool_pids = wait_for_pids(&run.workspace.join("pids"), 1).await;
    runner.process.signal(Signal::TERM);
    let started = Instant::now();
    assert!(runner.process.wait().success(), "{}", runner.log_text());
    let took = started.elapsed();
    assert!(
        took > Duration::from_millis(900) && took < Duration::from_secs(8),
        "expected about 1 s, took {took:?}"
    );
    wait_until_exited(&tool_pids, Duration::from_secs(1)).await;
    let result = fixture.wait_for_result(&run, &command, Duration::from_secs(1)).await;
    assert_eq!(
        (&result["terminalStatus"], &result["failureKind"]),
        (&"failed".into(), &"infra-failed".into())
    );
    assert!(result["blocker"].to_string().contains("shutting down"), "{result}");
    assert_eq!(
        fixture.get(&format!("/api/v1/runs/{}", run.id)).await["status"],
        "pending",
        "the run was not released"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_shot_runner_exits_after_one_run() {
    let fixture = RunnerFixture::start().await;
    let (first, second) = (fixture.create_run().await, fixture.create_run().await);
    let command = fixture.send(&first, "run:true").await;
    let mut runner = fixture.start_warm_runner(&["--one-shot", "--idle-seconds", "1"]);
    fixture.wait_for_result(&first, &command, Duration::from_secs(20)).await;
    fixture.send(&second, "run:true").await;
    assert!(runner.process.wait().success(), "{}", runner.log_text());
    let events = fixture.events(&second).await;
    assert_eq!(phase_payloads(&events, "run-claimed"), Vec::<serde_json::Value>::new(), "{events:#?}");
}
