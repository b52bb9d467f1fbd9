//! A developer's first run: `guildhall dev`, `guildhall login`, and a run with immediate output.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use guildhall_testkit::Stopwatch;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::runner::WatchedCommand;
use crate::support::terminal::TerminalSession;
use crate::support::user::{CliUser, stderr, stdout};
use crate::support::{ChildProcess, guildhall, processes_of, wait_until_no_process};

fn temp_folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("guildhall-first-").tempdir().expect("a folder")
}

/// Signs in as in the README, without arguments: the CLI reads the password from the state folder.
fn sign_in(user: &CliUser, state: &Path) {
    let output = user
        .command(&["login"])
        .current_dir(state.parent().expect("a folder"))
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Returns the runner processes of a state folder.
fn runner_processes(state: &Path) -> Vec<String> {
    processes_of(state).into_iter().filter(|line| line.contains("guildhall-runner ")).collect()
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within 120 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for a warm runner: it has registered when its log names the profile.
fn wait_for_warm_runner(state: &Path) {
    wait_for("warm runner", || {
        let attempts = std::fs::read_dir(state.join("launcher/attempts")).into_iter().flatten().flatten();
        attempts
            .map(|attempt| std::fs::read_to_string(attempt.path().join("runner.log")).unwrap_or_default())
            .any(|log| log.contains("guildhall-runner serves demo"))
    });
}

#[test]
fn first_run_streams_output_at_once_without_an_api_key() {
    let (folder, user) = (temp_folder(), CliUser::new());
    let state = folder.path().join(".guildhall");
    let mut dev = ChildProcess::start_dev(&state);
    let ready = dev.wait_ready();
    assert_eq!(ready["runners"]["warm"]["demo"], 1, "{ready}");
    sign_in(&user, &state);
    wait_for_warm_runner(&state);
    let started = Stopwatch::start();
    let watching =
        WatchedCommand::start(&user, &["runs", "create", "--profile", "demo", "tidy my notes", "--watch"]);
    let created = watching.read_line();
    let claimed_line = watching.read_line();
    let claim_time = started.elapsed();
    assert!(
        created.starts_with("created run_") && claimed_line.contains("claimed the run"),
        "{created} {claimed_line}"
    );
    let text_line = watching.read_line();
    let first_sentence = started.elapsed();
    let ended = watching.wait();
    assert!(text_line.contains("You said: \"tidy my notes\""), "{text_line}");
    assert_eq!(
        (ended.code, ended.remaining_lines.last().map(String::as_str)),
        (Some(0), Some("completed")),
        "{}",
        ended.stderr
    );
    println!("claimed after {claim_time:?}, first sentence complete after {first_sentence:?}");
    assert!(claim_time < Duration::from_secs(5), "a warm runner claimed the run only after {claim_time:?}");

    let run = created.split(' ').nth(1).expect("an id").to_owned();
    let jobs = user.json(&["runs", "jobs", &run]);
    assert_eq!(jobs["runnerJobs"][0]["kind"], "warm", "{jobs}");
    let second_launch = user.run(&["runs", "launch", &run]);
    assert_eq!(second_launch.status.code(), Some(1), "{}", stderr(&second_launch));
    assert!(
        stderr(&second_launch).contains("no command of the run is pending"),
        "{}",
        stderr(&second_launch)
    );
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    let log = dev.remaining_stderr();
    assert!(!log.contains("WARN"), "Ctrl-C is not a reason to warn: {log}");
    wait_until_no_process(&state, Duration::from_secs(2));
}

/// A runner without its server stops by itself within 30 s, to let a turn end. The next start must not wait for that.
#[test]
fn next_dev_start_ends_the_runners_of_a_killed_dev() {
    let (folder, user) = (temp_folder(), CliUser::new());
    let state = folder.path().join(".guildhall");
    let mut dev = ChildProcess::start_dev(&state);
    dev.wait_ready();
    sign_in(&user, &state);
    wait_for_warm_runner(&state);
    let watching = WatchedCommand::start(&user, &["runs", "create", "run: sleep 300", "--watch"]);
    let created = watching.read_line();
    assert!(created.starts_with("created run_"), "{created}");
    let tool_processes =
        || processes_of(&state).into_iter().filter(|line| line.contains("sleep 300")).collect::<Vec<_>>();
    wait_for("tool process", || !tool_processes().is_empty());
    let (leftover_runners, leftover_tools) = (runner_processes(&state), tool_processes());
    dev.signal(Signal::KILL);
    dev.wait();
    let mut next = ChildProcess::start_dev(&state);
    next.wait_ready();
    let started = Stopwatch::start();
    wait_for("exit of the leftover processes", || {
        let running = processes_of(&state);
        !leftover_runners.iter().chain(&leftover_tools).any(|line| running.contains(line))
    });
    println!("leftover processes exited {:?} after the next dev was ready", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    next.signal(Signal::TERM);
    assert!(next.wait().success());
    wait_until_no_process(&state, Duration::from_secs(2));
}

#[test]
fn launched_runner_job_is_listed_by_the_cli() {
    let (folder, user) = (temp_folder(), CliUser::new());
    let state = folder.path().join(".guildhall");
    let mut command = guildhall();
    command.args(["dev", "--json", "--listen", "127.0.0.1:0", "--state"]).arg(&state);
    command.env("GUILDHALL_LAUNCHER_WARM", "").env("GUILDHALL_LAUNCHER_COLD_START", "false");
    let mut dev = ChildProcess::start(&mut command);
    dev.wait_ready();
    sign_in(&user, &state);
    let created = user.json(&["runs", "create", "go"]);
    let run = created["run"]["runId"].as_str().expect("a run").to_owned();
    assert_eq!(user.json(&["runs", "jobs", &run]), serde_json::json!({ "runnerJobs": [] }));
    let launch = ["runs", "launch", &run, "--idempotency-key", "once"];
    let job = user.json(&launch);
    assert_eq!(
        user.json(&launch)["runnerJobId"],
        job["runnerJobId"],
        "the same idempotency key returns the same job"
    );
    let show = || -> Value { user.json(&["runs", "show", &run]) };
    wait_for("end of the turn", || show()["openCommandIds"].as_array().is_some_and(Vec::is_empty));
    let table = user.run(&["runs", "jobs", &run]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    let id = job["runnerJobId"].as_str().expect("an id");
    assert!(table.lines().count() == 2 && table.contains(id) && table.contains("asked"), "{table}");
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    wait_until_no_process(&state, Duration::from_secs(2));
}

#[test]
fn dev_user_chats_with_the_demo_agent_after_one_login() {
    let (folder, user) = (temp_folder(), CliUser::new());
    let state = folder.path().join(".guildhall");
    let mut dev = ChildProcess::start_dev(&state);
    let ready = dev.wait_ready();
    let login = || {
        let mut command = user.command(&["aid", "login", "developer.guildhall.test"]);
        let output = command.current_dir(folder.path()).output().expect("the command runs");
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let url = ready["url"].as_str().expect("a URL");
    let expected = format!("logged in to {url} as developer.guildhall.test; it is the current AID\n");
    assert_eq!(login(), (Some(0), expected, String::new()));
    let key = std::fs::metadata(state.join("aids/developer.guildhall.test.key")).expect("a key");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    let mut chat =
        TerminalSession::start(user.command(&["chat", "demo.guildhall.test"]).env("NO_COLOR", "1"));
    chat.wait_for("chat with demo.guildhall.test");
    chat.type_keys("hello\r");
    chat.wait_for("A real agent takes my place");
    chat.type_keys("\u{4}");
    assert_eq!(chat.wait().0, Some(0));
}
