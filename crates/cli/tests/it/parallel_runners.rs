//! Several runners under one program, and draining them.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::ChildProcess;
use crate::support::agent::start_demo_runner;
use crate::support::runner::TenantFixture;
use crate::support::user::{DevServer, stdout};

/// Starts the runner program with two runners.
fn start_two(server: &DevServer, fixture: &TenantFixture, folder: &TempDir) -> ChildProcess {
    start_demo_runner(server, fixture, folder, &["--name", "two", "--parallel", "2"])
}

/// Waits until a list of runners matches.
fn wait_for_runners(fixture: &TenantFixture, matches: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let listed = fixture.user.json(&["runners", "ls", "--all"]);
        let runners = listed["runners"].as_array().expect("runners").clone();
        if matches(&runners) {
            return runners;
        }
        assert!(Instant::now() < deadline, "{listed}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn held_runs(runners: &[Value]) -> Vec<&str> {
    let mut runs: Vec<&str> = runners.iter().filter_map(|runner| runner["runId"].as_str()).collect();
    runs.sort_unstable();
    runs
}

#[test]
fn idle_run_is_released_when_another_run_waits() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let _program = start_two(&server, &fixture, &folder);
    let idle = [fixture.create_run(Some("one")).run, fixture.create_run(Some("two")).run];
    wait_for_runners(&fixture, |runners| held_runs(runners).len() == 2);
    // By default an idle run is kept for five minutes.
    let waiting = fixture.create_run(Some("three")).run;
    let runners = wait_for_runners(&fixture, |runners| held_runs(runners).contains(&waiting.as_str()));
    let held = held_runs(&runners);
    assert!(held.iter().all(|run| *run == waiting || idle.iter().any(|idle| idle == run)), "{held:?}");
    let sent = fixture.user.run(&["runs", "send", &idle[0], "and again", "--watch"]);
    assert!(sent.status.success(), "a released run continues: {}", stdout(&sent));
}

#[test]
fn parallel_runners_hold_two_runs_and_exit_when_drained() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = start_two(&server, &fixture, &folder);
    let mut runs = [fixture.create_run(Some("one")).run, fixture.create_run(Some("two")).run];
    runs.sort_unstable();
    let runners = wait_for_runners(&fixture, |runners| held_runs(runners) == runs);
    let mut names: Vec<_> = runners.iter().map(|runner| runner["name"].as_str().expect("a name")).collect();
    names.sort_unstable();
    assert_eq!(names, ["two-1", "two-2"], "each registers once");
    for runner in &runners {
        let (id, run) =
            (runner["runnerId"].as_str().expect("an id"), runner["runId"].as_str().expect("a run"));
        let drained = stdout(&fixture.user.run(&["runners", "drain", id]));
        assert_eq!(drained, format!("{id} gets no more runs; it exits when {run} is idle\n"));
    }
    let waiting = fixture.create_run(Some("three")).run;
    // Idle runs do not keep a draining runner.
    assert!(program.wait().success());
    let left = fixture.user.json(&["runs", "show", &waiting]);
    assert_eq!(left["status"], "pending", "a draining runner claimed the next run");
}

#[test]
fn parallel_runners_release_their_runs_when_their_parent_is_killed() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = start_two(&server, &fixture, &folder);
    let run = fixture.create_run(Some("one")).run;
    wait_for_runners(&fixture, |runners| held_runs(runners) == [run.as_str()]);
    program.signal(Signal::KILL);
    assert!(!program.wait().success());
    wait_for_runners(&fixture, |runners| held_runs(runners).is_empty());
    crate::support::wait_until_no_process(folder.path(), Duration::from_secs(20));
}
