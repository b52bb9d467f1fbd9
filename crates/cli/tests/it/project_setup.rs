//! The setup of a project in runs of `guildhall dev`.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::user::{CliUser, stderr, stdout};
use crate::support::{ChildProcess, processes_of};

/// Starts `guildhall dev`, signs in and creates the project `web` with a setup.
fn start(state: &Path, setup: &str) -> (ChildProcess, CliUser) {
    let mut dev = ChildProcess::start_dev(state);
    dev.wait_ready();
    let user = CliUser::new();
    let login = user.command(&["login"]).current_dir(state.parent().expect("a folder")).output();
    let login = login.expect("the command runs");
    assert_eq!(login.status.code(), Some(0), "{}", stderr(&login));
    user.json(&["projects", "create", "web"]);
    user.json(&["projects", "setup", "web", "--command", setup]);
    (dev, user)
}

/// Runs a command that starts a turn, and returns the output of the agent's tools.
fn tool_output(user: &CliUser, args: &[&str]) -> String {
    let watched = user.run(&[args, &["--watch", "--json"]].concat());
    assert_eq!(watched.status.code(), Some(0), "{}", stderr(&watched));
    let events = stdout(&watched);
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let output = events.filter(|event| event["type"] == "command_output");
    output.filter_map(|event| event["payload"]["text"].as_str().map(str::to_owned)).collect()
}

#[test]
fn setup_runs_before_the_agent_and_once_per_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let setup = "echo prepared >> prepared; echo shared > $GUILDHALL_CACHE/file";
    let (_dev, user) = start(&folder.path().join(".guildhall"), setup);
    let prompt = "run:cat prepared $GUILDHALL_CACHE/file; touch $GUILDHALL_CACHE/x";
    let output = tool_output(&user, &["runs", "create", "--project", "web", prompt]);
    assert!(
        output.starts_with("prepared\nshared\ntouch: ") && output.contains("Read-only file system"),
        "{output}"
    );
    let run = user.json(&["runs", "ls"])["runs"][0]["runId"].as_str().expect("a run").to_owned();
    assert_eq!(tool_output(&user, &["runs", "send", &run, "run:cat prepared"]), "prepared\n");
    // A run of another project has no setup.
    assert_eq!(tool_output(&user, &["runs", "create", "run:ls -A | wc -l"]), "0\n");
}

#[test]
fn run_is_cancelled_while_its_setup_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join(".guildhall");
    let (_dev, user) = start(&state, "echo started; sleep 300");
    let created = user.json(&["runs", "create", "--project", "web", "hello"]);
    let run = created["run"]["runId"].as_str().expect("a run").to_owned();
    let sleeping = || processes_of(&state).into_iter().filter(|line| line.contains("sleep 300")).count();
    let wait_for = |what: &str, condition: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !condition() {
            assert!(Instant::now() < deadline, "{what}: not within 20 s");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait_for("the setup starts", &|| sleeping() > 0);
    user.json(&["runs", "cancel", &run]);
    wait_for("the setup ends", &|| sleeping() == 0);
    let status = || -> Value { user.json(&["runs", "show", &run])["terminalStatus"].clone() };
    wait_for("the run ends", &|| !status().is_null());
    assert_eq!(status(), "cancelled");
}
