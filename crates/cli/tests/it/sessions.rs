//! `guildhall sessions`, with a fake runner.

use guildhall_domain::runs::TerminalOutcome;
use serde_json::{Value, json};

use crate::support::runner::TenantFixture;
use crate::support::user::{DevServer, stderr, stdout};

// covers: R20
#[test]
fn session_is_unread_until_marked_read_and_output_shows_text() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let user = &fixture.user;
    assert!(stdout(&user.run(&["sessions", "ls"])).starts_with("no running or unread sessions"));
    let created = fixture.create_run(Some("go"));
    let session_count = |args: &[&str]| user.json(args)["sessions"].as_array().expect("sessions").len();
    assert_eq!(session_count(&["sessions", "ls"]), 1, "a session with an open run is listed");
    let mut runner = fixture.claim_run(&server, &created.run);
    assert_eq!(runner.run().to_string(), created.run);
    runner.ack(&created.command);
    runner.send_message(&created.command, "said in the session");
    runner.append_event(
        &created.command,
        "tool_call",
        json!({ "callId": "a", "toolName": "shell", "status": "completed" }),
    );
    runner.finish_command(&created.command, &TerminalOutcome::COMPLETED);
    user.json(&["runs", "cancel", &created.run]);

    let line = stdout(&user.run(&["sessions", "ls"]));
    let line = line.lines().nth(1).expect("the session");
    assert!(
        line.starts_with(&created.session)
            && line.contains(" unread ")
            && line.ends_with(&format!("{}  go", created.run)),
        "{line}"
    );
    let view = user.json(&["sessions", "show", &created.session]);
    assert_eq!((&view["unread"], &view["run"]["runId"]), (&json!(true), &json!(created.run)));
    let text = stdout(&user.run(&["sessions", "show", &created.session]));
    assert!(text.contains("cancelled: It has ended"), "{text}");

    let output = stdout(&user.run(&["sessions", "output", &created.session]));
    assert_eq!(output, "said in the session\ncompleted\nrun cancelled: the run was cancelled\n");
    let trace = stdout(&user.run(&["sessions", "trace", &created.session, "--json"]));
    assert_eq!(trace, stdout(&user.run(&["runs", "events", &created.run, "--json"])));
    let after = stdout(&user.run(&[
        "sessions",
        "trace",
        &created.session,
        "--run",
        &created.run,
        "--after",
        "5",
        "--json",
    ]));
    let first: Value = serde_json::from_str(after.lines().next().expect("an event")).expect("JSON");
    assert_eq!(first["seq"], 6);

    let read = user.json(&["sessions", "read", &created.session]);
    assert_eq!((&read["unread"], &read["readVersion"]), (&json!(false), &read["version"]));
    assert_eq!(session_count(&["sessions", "ls"]), 0);
    assert_eq!(session_count(&["sessions", "ls", "--all"]), 1);
    assert_eq!(
        session_count(&["sessions", "ls", "--reader", "another"]),
        1,
        "each reader has its own read position"
    );
}

#[test]
fn session_cancel_cancels_the_command_and_then_the_run() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(Some("go"));
    let cancel = || fixture.user.json(&["sessions", "cancel", &created.session]);
    assert_eq!(
        cancel(),
        json!({
            "cancelled": "command", "runId": created.run, "commandId": created.command, "status": "cancelled",
        })
    );
    assert_eq!(cancel()["cancelled"], "run");
    let nothing = fixture.user.run(&["sessions", "cancel", &created.session]);
    assert_eq!(stdout(&nothing), "nothing to cancel in this session\n", "{}", stderr(&nothing));
    let again = fixture.user.json(&["runs", "create", "more", "--session", &created.session]);
    assert_eq!(again["run"]["sessionId"], json!(created.session));
}
