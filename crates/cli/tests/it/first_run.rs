//! The first run of a developer: `guildhall dev`, `guildhall login`, and a run that shows something at once.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::runner::Watching;
use crate::support::user::{User, stderr};
use crate::support::{Running, guildhall, processes_of, wait_until_gone};

fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("guildhall-first-").tempdir().expect("a folder")
}

/// Signs in as the README says: nothing is named, the password is found in the folder.
fn sign_in(user: &User, state: &Path) {
    let output =
        user.command(&["login"]).current_dir(state.parent().expect("a folder")).output().expect("ran");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Returns the runners that work for a folder.
fn runners(state: &Path) -> Vec<String> {
    processes_of(state).into_iter().filter(|line| line.contains("guildhall-runner ")).collect()
}

fn until(what: &str, pleases: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !pleases() {
        assert!(Instant::now() < deadline, "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a runner waits for a run: it has registered when its log says what it serves.
fn until_warm(state: &Path) {
    until("a warm runner", || {
        let attempts = std::fs::read_dir(state.join("launcher/attempts")).into_iter().flatten().flatten();
        attempts
            .map(|attempt| std::fs::read_to_string(attempt.path().join("runner.log")).unwrap_or_default())
            .any(|log| log.contains("guildhall-runner serves demo"))
    });
}

#[test]
fn the_first_run_streams_something_at_once_without_a_key() {
    let (folder, user) = (folder(), User::new());
    let state = folder.path().join(".guildhall");
    let mut dev = Running::dev(&state);
    let ready = dev.ready();
    assert_eq!(ready["runners"]["warm"]["demo"], 1, "{ready}");
    sign_in(&user, &state);
    until_warm(&state);
    let began = Instant::now();
    let watching =
        Watching::start(&user, &["runs", "create", "--profile", "demo", "tidy my notes", "--watch"]);
    let made = watching.line();
    let claimed = watching.line();
    let first = began.elapsed();
    assert!(made.starts_with("made run_") && claimed.contains("has the run"), "{made} {claimed}");
    let words = watching.line();
    let whole = began.elapsed();
    let ended = watching.end();
    assert!(words.contains("You said: \"tidy my notes\""), "{words}");
    assert_eq!(
        (ended.code, ended.rest.last().map(String::as_str)),
        (Some(0), Some("completed")),
        "{}",
        ended.errors
    );
    println!("a runner had the first run after {first:?}; its first sentence was whole after {whole:?}");
    assert!(first < Duration::from_secs(5), "{first:?}: a warm runner takes it at once");

    let run = made.split(' ').nth(1).expect("an id").to_owned();
    let jobs = user.json(&["runs", "jobs", &run]);
    assert_eq!(jobs["runnerJobs"][0]["kind"], "warm", "{jobs}");
    let launched = user.run(&["runs", "launch", &run]);
    assert_eq!(launched.status.code(), Some(1), "{}", stderr(&launched));
    assert!(stderr(&launched).contains("no command of the run is pending"), "{}", stderr(&launched));
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    wait_until_gone(&state, Duration::from_secs(2));
}

/// By itself a runner that loses its `dev` stops within half a minute, so that a turn may end. Nobody has to wait for it.
#[test]
fn runners_of_a_killed_dev_end_at_the_next_start_also_in_the_middle_of_a_turn() {
    let (folder, user) = (folder(), User::new());
    let state = folder.path().join(".guildhall");
    let mut dev = Running::dev(&state);
    dev.ready();
    sign_in(&user, &state);
    until_warm(&state);
    let watching = Watching::start(&user, &["runs", "create", "run: sleep 300", "--watch"]);
    let made = watching.line();
    assert!(made.starts_with("made run_"), "{made}");
    let tools =
        || processes_of(&state).into_iter().filter(|line| line.contains("sleep 300")).collect::<Vec<_>>();
    until("its tool", || !tools().is_empty());
    let (left, tool) = (runners(&state), tools());
    dev.signal(Signal::KILL);
    dev.wait();
    let mut next = Running::dev(&state);
    next.ready();
    let began = Instant::now();
    until("the end of what was left", || {
        let now = processes_of(&state);
        !left.iter().chain(&tool).any(|line| now.contains(line))
    });
    println!("what a killed dev left was gone {:?} after the next was ready", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    next.signal(Signal::TERM);
    assert!(next.wait().success());
    wait_until_gone(&state, Duration::from_secs(2));
}

#[test]
fn a_launched_runner_is_seen_from_the_command_line() {
    let (folder, user) = (folder(), User::new());
    let state = folder.path().join(".guildhall");
    let mut command = guildhall();
    command.args(["dev", "--json", "--listen", "127.0.0.1:0", "--state"]).arg(&state);
    command.env("GUILDHALL_LAUNCHER_WARM", "").env("GUILDHALL_LAUNCHER_COLD_START", "false");
    let mut dev = Running::start(&mut command);
    dev.ready();
    sign_in(&user, &state);
    let made = user.json(&["runs", "create", "go"]);
    let run = made["run"]["runId"].as_str().expect("a run").to_owned();
    assert_eq!(user.json(&["runs", "jobs", &run]), serde_json::json!({ "runnerJobs": [] }));
    let launch = ["runs", "launch", &run, "--idempotency-key", "once"];
    let job = user.json(&launch);
    assert_eq!(user.json(&launch)["runnerJobId"], job["runnerJobId"], "the same key, the same job");
    let show = || -> Value { user.json(&["runs", "show", &run]) };
    until("the turn", || show()["openCommandIds"].as_array().is_some_and(Vec::is_empty));
    let table = user.run(&["runs", "jobs", &run]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    let id = job["runnerJobId"].as_str().expect("an id");
    assert!(table.lines().count() == 2 && table.contains(id) && table.contains("asked"), "{table}");
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    wait_until_gone(&state, Duration::from_secs(2));
}
