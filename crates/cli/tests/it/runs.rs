//! `guildhall runs`, with a fake runner.

use guildhall_domain::FailureKind;
use guildhall_domain::runs::{TerminalOutcome, TerminalStatus};
use serde_json::{Value, json};

use crate::support::runner::{TenantFixture, outcome};
use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// Splits a table row into its cells.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn runs_ls_and_show_print_status_and_wait_reason() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let user = &fixture.user;
    assert!(stdout(&user.run(&["runs", "ls"])).starts_with("no open runs"));
    let (idle, ended) = (fixture.create_run(None), fixture.create_run(None));
    let create_args =
        ["runs", "create", "go", "--project", "acme/web", "--sandbox", "read-only", "--idempotency-key", "k"];
    let working = user.json(&create_args);
    let again = user.json(&create_args);
    assert_eq!(
        again["run"]["runId"], working["run"]["runId"],
        "the same idempotency key returns the same run"
    );
    assert_eq!(again["command"], working["command"], "the same idempotency key returns the same turn");
    let (run, turn) = (working["run"]["runId"].as_str().expect("an id"), &working["command"]["commandId"]);
    let turn = turn.as_str().expect("an id");
    user.json(&["runs", "cancel", &ended.run]);
    let mut runner = fixture.claim_run(&server, run);
    runner.ack(turn);
    runner.send_message(turn, "hello");
    let list = stdout(&user.run(&["runs", "ls"]));
    let lines: Vec<Vec<&str>> = list.lines().map(cells).collect();
    assert_eq!(lines[0], ["RUN", "STATUS", "PROFILE", "PROJECT", "AGE", "WAITS FOR", "TITLE"]);
    let row = |line: &[&str]| [line[0], line[1], line[2], line[3], line[5]].map(str::to_owned);
    assert_eq!(row(&lines[1]), [run, "running", "demo", "acme/web", "the model"]);
    assert_eq!(row(&lines[2]), [idle.run.as_str(), "pending", "demo", "default", "a runner"]);
    assert_eq!(lines.len(), 3, "{list}");
    let page = user.run(&["runs", "ls", "--all", "-n", "2"]);
    assert_eq!(stdout(&page).lines().count(), 3);
    assert_eq!(stderr(&page), format!("there may be older runs: add --before {}\n", ended.run));
    let older = user.json(&["runs", "ls", "--all", "--before", &ended.run, "--tenant", "acme"]);
    assert_eq!((keys(&older), &older["runs"][0]["runId"]), (vec!["nextCursor", "runs"], &json!(idle.run)));

    let view = stdout(&user.run(&["runs", "show", run]));
    for line in ["status     running", "project    acme/web", "waits for  the model"] {
        assert!(view.lines().any(|row| row == line), "{line}: {view}");
    }
    let value = user.json(&["runs", "show", run]);
    assert_eq!(value["executionPolicy"]["sandbox"], "read-only");
    assert_eq!(value["openCommandIds"], json!([turn]));
    let explained = user.json(&["runs", "explain", run]);
    assert_eq!(keys(&explained), ["liveness", "runId", "status"]);
    let events = stdout(&user.run(&["runs", "events", run]));
    let last: Vec<&str> = cells(events.lines().last().expect("an event"));
    assert_eq!(last[2..], ["assistant_message", "hello"]);
}

// covers: R8
#[test]
fn result_is_printed_and_repeated_cancel_is_idempotent() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let user = &fixture.user;
    let created = fixture.create_run(Some("first"));
    let pending = stdout(&user.run(&["runs", "result", &created.run]));
    assert!(pending.starts_with("pending. It waits for a runner"), "{pending}");
    let mut runner = fixture.claim_run(&server, &created.run);
    runner.ack(&created.command);
    runner.append_event(
        &created.command,
        "assistant_message",
        json!({ "text": "two\nlines", "final": true }),
    );
    runner.finish_command(&created.command, &TerminalOutcome::COMPLETED);
    assert_eq!(stdout(&user.run(&["runs", "result", &created.run])), "two\nlines\n");
    let second = user.json(&["runs", "send", &created.run, "second"]);
    let second = second["commandId"].as_str().expect("an id");
    let failed = outcome(TerminalStatus::Failed, FailureKind::BackendFailed, "no model");
    runner.ack(second);
    runner.finish_command(second, &failed);
    assert_eq!(stdout(&user.run(&["runs", "result", &created.run])), "failed (backend-failed): no model\n");
    let first = user.json(&["runs", "result", &created.run, "--command", &created.command]);
    assert_eq!((&first["reply"], &first["commandId"]), (&json!("two\nlines"), &json!(created.command)));

    let third = user.run_with_stdin(&["runs", "send", &created.run, "-", "--json"], "from a pipe");
    let third: Value = serde_json::from_slice(&third.stdout).expect("JSON");
    assert_eq!(third["payload"], json!({ "prompt": "from a pipe" }));
    let third = third["commandId"].as_str().expect("an id");
    runner.ack(third);
    let cancel_output = stdout(&user.run(&["runs", "cancel", &created.run, "--command", third]));
    assert_eq!(cancel_output, format!("{third} is running; it ends when its runner has stopped\n"));
    runner.finish_command(third, &outcome(TerminalStatus::Cancelled, FailureKind::Cancelled, "stopped"));
    for _ in 0..2 {
        let cancelled = user.json(&["runs", "cancel", &created.run]);
        assert_eq!(
            (&cancelled["status"], &cancelled["terminalStatus"]),
            (&json!("cancelled"), &json!("cancelled"))
        );
    }
    let late = runner.try_finish_command(third).expect_err("the runner lost its lease");
    assert_eq!(late.kind(), Some(FailureKind::RunnerLeaseConflict));
}

#[test]
fn tenant_comes_from_flag_context_or_single_membership() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let user = &fixture.user;
    let only = user.json(&["runs", "create"]);
    let other = user.json(&["tenants", "create", "other"]);
    let several = user.run(&["runs", "ls"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(stderr(&several).contains("guildhall context tenant"), "{}", stderr(&several));
    assert_eq!(user.run(&["context", "tenant", "nobody"]).status.code(), Some(4));
    assert_eq!(user.json(&["context", "tenant", "other"])["tenant"], "other");
    user.login(&server);
    let created = user.json(&["runs", "create"]);
    assert_eq!(created["run"]["tenantId"], other["id"], "a new login keeps the tenant of the context");
    let flagged = user.json(&["runs", "ls", "--tenant", "acme"]);
    assert_eq!(flagged["runs"][0]["runId"], only["run"]["runId"]);
}

#[test]
fn runs_errors_name_the_next_step_and_show_no_secret() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(None);
    fixture.user.json(&["runs", "cancel", &created.run]);
    let other = fixture.create_run(None);
    let unknown = "run_01920000000070008000000000000000";
    let stranger = CliUser::new();
    let cases: &[(&CliUser, &[&str], i32, &str)] = &[
        (&fixture.user, &["runs", "show", unknown], 4, "next: check the name or id"),
        (&fixture.user, &["runs", "events", unknown, "-f"], 4, "next: check the name or id"),
        (&fixture.user, &["runs", "show", "run_1"], 2, "expected `run_` followed by 32 hexadecimal digits"),
        (&fixture.user, &["runs", "send", &created.run, "x"], 1, "create another run in the same session"),
        (&fixture.user, &["runs", "send", &other.run, "x", "--steer"], 1, "there is no turn to steer"),
        (&fixture.user, &["runs", "create", "--session", &other.session], 1, "the session has an open run"),
        (&fixture.user, &["runs", "create", "--sandbox", "danger-full-access"], 1, "next: request less"),
        (
            &fixture.user,
            &["runs", "create", "--sandbox", "none"],
            2,
            "read-only, workspace-write, danger-full-access",
        ),
        (&fixture.user, &["runs", "create", "--tenant", "nobody"], 4, "guildhall tenants ls"),
        (
            &fixture.user,
            &["runs", "create", "--workspace", "git:https://me:hunter2@example.com/x"],
            2,
            "must not contain a credential",
        ),
        (
            &fixture.user,
            &["runs", "cancel", &other.run, "--command", "cmd_01920000000070008000000000000000"],
            4,
            "next: ",
        ),
        (&stranger, &["runs", "ls"], 5, "guildhall login"),
    ];
    for (user, args, code, expected) in cases {
        let output = user.run(args);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {message}");
        assert!(message.contains(expected), "{args:?}: {message}");
        assert!(
            !message.contains("hunter2") && !message.contains(&fixture.enrolment_token),
            "{args:?}: {message}"
        );
    }
    let blank = fixture.user.run(&["runs", "create", " "]);
    assert_eq!(blank.status.code(), Some(1));
    assert!(stderr(&blank).contains("was created, but its first turn was not sent"), "{}", stderr(&blank));
}

#[test]
fn run_without_changes_is_not_reported_as_a_missing_run() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let run = fixture.create_run(None).run;
    let none = fixture.user.run(&["runs", "diff", &run]);
    assert_eq!(none.status.code(), Some(4));
    assert!(stderr(&none).starts_with(&format!("error: {run} has no changes: ")), "{}", stderr(&none));
    assert!(stderr(&none).contains(&format!("next: `guildhall runs show {run}`")), "{}", stderr(&none));
    let missing = fixture.user.run(&["runs", "diff", "run_01920000000070008000000000000000"]);
    assert_eq!(missing.status.code(), Some(4));
    assert!(!stderr(&missing).contains("no changes"), "{}", stderr(&missing));
}
