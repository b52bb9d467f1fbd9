//! `guildhall runs`, with a runner that is played.

use guildhall_domain::FailureKind;
use guildhall_domain::runs::{Ending, TerminalStatus};
use serde_json::{Value, json};

use crate::support::runner::{Yard, ending};
use crate::support::user::{Server, User, stderr, stdout};

/// The words of a line, without its columns.
fn words(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn a_run_is_listed_with_what_it_waits_for_and_shown_with_what_it_is() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let user = &yard.user;
    assert!(stdout(&user.run(&["runs", "ls"])).starts_with("no open runs"));
    let (idle, ended) = (yard.run(None), yard.run(None));
    let asked =
        ["runs", "create", "go", "--project", "acme/web", "--sandbox", "read-only", "--idempotency-key", "k"];
    let working = user.json(&asked);
    let again = user.json(&asked);
    assert_eq!(again["run"]["runId"], working["run"]["runId"], "the same key gives the same run");
    assert_eq!(again["command"], working["command"], "and the same turn");
    let (run, turn) = (working["run"]["runId"].as_str().expect("an id"), &working["command"]["commandId"]);
    let turn = turn.as_str().expect("an id");
    user.json(&["runs", "cancel", &ended.run]);
    let mut played = yard.claim(&server, run);
    played.take(turn);
    played.say(turn, "hello");
    let list = stdout(&user.run(&["runs", "ls"]));
    let lines: Vec<Vec<&str>> = list.lines().map(words).collect();
    assert_eq!(lines[0], ["RUN", "STATUS", "PROFILE", "PROJECT", "AGE", "WAITS FOR"]);
    let row = |line: &[&str]| [line[0], line[1], line[2], line[3], line[5]].map(str::to_owned);
    assert_eq!(row(&lines[1]), [run, "running", "demo", "acme/web", "the model"]);
    assert_eq!(row(&lines[2]), [idle.run.as_str(), "pending", "demo", "default", "a runner"]);
    assert_eq!(lines.len(), 3, "{list}");
    let page = user.run(&["runs", "ls", "--all", "-n", "2"]);
    assert_eq!(stdout(&page).lines().count(), 3);
    assert_eq!(stderr(&page), format!("there may be older ones: add --before {}\n", ended.run));
    let older = user.json(&["runs", "ls", "--all", "--before", &ended.run, "--tenant", "acme"]);
    assert_eq!((names(&older), &older["runs"][0]["runId"]), (vec!["nextCursor", "runs"], &json!(idle.run)));

    let shown = stdout(&user.run(&["runs", "show", run]));
    for line in ["status     running", "project    acme/web", "waits for  the model"] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    let value = user.json(&["runs", "show", run]);
    assert_eq!(value["executionPolicy"]["sandbox"], "read-only");
    assert_eq!(value["openCommandIds"], json!([turn]));
    let explained = user.json(&["runs", "explain", run]);
    assert_eq!(names(&explained), ["liveness", "runId", "status"]);
    let events = stdout(&user.run(&["runs", "events", run]));
    let last: Vec<&str> = words(events.lines().last().expect("an event"));
    assert_eq!(last[2..], ["assistant_message", "hello"]);
}

// covers: R8
#[test]
fn a_result_is_read_and_cancelling_again_changes_nothing() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let user = &yard.user;
    let made = yard.run(Some("first"));
    let waiting = stdout(&user.run(&["runs", "result", &made.run]));
    assert!(waiting.starts_with("pending. It waits for a runner"), "{waiting}");
    let mut played = yard.claim(&server, &made.run);
    played.take(&made.command);
    played.report(&made.command, "assistant_message", json!({ "text": "two\nlines", "final": true }));
    played.finish(&made.command, &Ending::COMPLETED);
    assert_eq!(stdout(&user.run(&["runs", "result", &made.run])), "two\nlines\n");
    let second = user.json(&["runs", "send", &made.run, "second"]);
    let second = second["commandId"].as_str().expect("an id");
    let failed = ending(TerminalStatus::Failed, FailureKind::BackendFailed, "no model");
    played.take(second);
    played.finish(second, &failed);
    assert_eq!(stdout(&user.run(&["runs", "result", &made.run])), "failed (backend-failed): no model\n");
    let first = user.json(&["runs", "result", &made.run, "--command", &made.command]);
    assert_eq!((&first["reply"], &first["commandId"]), (&json!("two\nlines"), &json!(made.command)));

    let third = user.run_with(&["runs", "send", &made.run, "-", "--json"], "from a pipe");
    let third: Value = serde_json::from_slice(&third.stdout).expect("JSON");
    assert_eq!(third["payload"], json!({ "prompt": "from a pipe" }));
    let third = third["commandId"].as_str().expect("an id");
    played.take(third);
    let asked = stdout(&user.run(&["runs", "cancel", &made.run, "--command", third]));
    assert_eq!(asked, format!("{third} is running; it ends when its runner has stopped the work\n"));
    played.finish(third, &ending(TerminalStatus::Cancelled, FailureKind::Cancelled, "stopped"));
    for _ in 0..2 {
        let cancelled = user.json(&["runs", "cancel", &made.run]);
        assert_eq!(
            (&cancelled["status"], &cancelled["terminalStatus"]),
            (&json!("cancelled"), &json!("cancelled"))
        );
    }
    let late = played.try_finish(third).expect_err("the run is no longer this runner's");
    assert_eq!(late.kind(), Some(FailureKind::RunnerLeaseConflict));
}

#[test]
fn a_tenant_comes_from_the_flag_the_context_or_is_the_only_one() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let user = &yard.user;
    let only = user.json(&["runs", "create"]);
    let other = user.json(&["tenants", "create", "other"]);
    let several = user.run(&["runs", "ls"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(stderr(&several).contains("guildhall context tenant"), "{}", stderr(&several));
    assert_eq!(user.run(&["context", "tenant", "nobody"]).status.code(), Some(4));
    assert_eq!(user.json(&["context", "tenant", "other"])["tenant"], "other");
    user.login(&server);
    let made = user.json(&["runs", "create"]);
    assert_eq!(made["run"]["tenantId"], other["id"], "a new login keeps the tenant");
    let flagged = user.json(&["runs", "ls", "--tenant", "acme"]);
    assert_eq!(flagged["runs"][0]["runId"], only["run"]["runId"]);
}

#[test]
fn a_failure_names_the_next_step_and_repeats_no_secret() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let made = yard.run(None);
    yard.user.json(&["runs", "cancel", &made.run]);
    let other = yard.run(None);
    let unknown = "run_01920000000070008000000000000000";
    let stranger = User::new();
    let cases: &[(&User, &[&str], i32, &str)] = &[
        (&yard.user, &["runs", "show", unknown], 4, "next: check the name or id"),
        (&yard.user, &["runs", "events", unknown, "-f"], 4, "next: check the name or id"),
        (&yard.user, &["runs", "show", "run_1"], 2, "expected `run_` and 32 hexadecimal digits"),
        (&yard.user, &["runs", "send", &made.run, "x"], 1, "create another in the same session"),
        (&yard.user, &["runs", "send", &other.run, "x", "--steer"], 1, "there is no turn to steer"),
        (&yard.user, &["runs", "create", "--session", &other.session], 1, "a run of this session is open"),
        (&yard.user, &["runs", "create", "--sandbox", "danger-full-access"], 1, "next: ask for less"),
        (
            &yard.user,
            &["runs", "create", "--sandbox", "none"],
            2,
            "read-only, workspace-write, danger-full-access",
        ),
        (&yard.user, &["runs", "create", "--tenant", "nobody"], 4, "guildhall tenants ls"),
        (
            &yard.user,
            &["runs", "create", "--workspace", "git:https://me:hunter2@example.com/x"],
            2,
            "cannot carry a credential",
        ),
        (
            &yard.user,
            &["runs", "cancel", &other.run, "--command", "cmd_01920000000070008000000000000000"],
            4,
            "next: ",
        ),
        (&stranger, &["runs", "ls"], 3, "guildhall login"),
    ];
    for (user, args, code, words) in cases {
        let output = user.run(args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!said.contains("hunter2") && !said.contains(&yard.enrolment), "{args:?}: {said}");
    }
    let blank = yard.user.run(&["runs", "create", " "]);
    assert_eq!(blank.status.code(), Some(1));
    assert!(stderr(&blank).contains("was made, but its first turn was not sent"), "{}", stderr(&blank));
}
