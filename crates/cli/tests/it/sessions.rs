//! `guildhall sessions`, with a runner that is played.

use guildhall_domain::runs::Ending;
use serde_json::{Value, json};

use crate::support::runner::Yard;
use crate::support::user::{Server, stderr, stdout};

// covers: R20
#[test]
fn a_session_is_new_until_it_is_read_and_its_output_is_what_was_said() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let user = &yard.user;
    assert!(stdout(&user.run(&["sessions", "ls"])).starts_with("nothing runs"));
    let made = yard.run(Some("go"));
    let listed = |args: &[&str]| user.json(args)["sessions"].as_array().expect("sessions").len();
    assert_eq!(listed(&["sessions", "ls"]), 1, "it runs");
    let mut played = yard.claim(&server, &made.run);
    assert_eq!(played.run().to_string(), made.run);
    played.take(&made.command);
    played.say(&made.command, "said in the session");
    played.report(
        &made.command,
        "tool_call",
        json!({ "callId": "a", "toolName": "shell", "status": "completed" }),
    );
    played.finish(&made.command, &Ending::COMPLETED);
    user.json(&["runs", "cancel", &made.run]);

    let line = stdout(&user.run(&["sessions", "ls"]));
    let line = line.lines().nth(1).expect("the session");
    assert!(line.starts_with(&made.session) && line.contains(" new ") && line.ends_with(&made.run), "{line}");
    let shown = user.json(&["sessions", "show", &made.session]);
    assert_eq!((&shown["unread"], &shown["run"]["runId"]), (&json!(true), &json!(made.run)));
    let text = stdout(&user.run(&["sessions", "show", &made.session]));
    assert!(text.contains("cancelled: It has ended"), "{text}");

    let output = stdout(&user.run(&["sessions", "output", &made.session]));
    assert_eq!(output, "said in the session\ncompleted\nrun cancelled: the run was cancelled\n");
    let trace = stdout(&user.run(&["sessions", "trace", &made.session, "--json"]));
    assert_eq!(trace, stdout(&user.run(&["runs", "events", &made.run, "--json"])));
    let after = stdout(&user.run(&[
        "sessions",
        "trace",
        &made.session,
        "--run",
        &made.run,
        "--after",
        "5",
        "--json",
    ]));
    let first: Value = serde_json::from_str(after.lines().next().expect("an event")).expect("JSON");
    assert_eq!(first["seq"], 6);

    let read = user.json(&["sessions", "read", &made.session]);
    assert_eq!((&read["unread"], &read["readVersion"]), (&json!(false), &read["version"]));
    assert_eq!(listed(&["sessions", "ls"]), 0);
    assert_eq!(listed(&["sessions", "ls", "--all"]), 1);
    assert_eq!(listed(&["sessions", "ls", "--reader", "another"]), 1, "each reader has a place of its own");
}

#[test]
fn cancelling_a_session_ends_what_is_at_work_in_it() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let made = yard.run(Some("go"));
    let cancel = || yard.user.json(&["sessions", "cancel", &made.session]);
    assert_eq!(
        cancel(),
        json!({
            "cancelled": "command", "runId": made.run, "commandId": made.command, "status": "cancelled",
        })
    );
    assert_eq!(cancel()["cancelled"], "run");
    let nothing = yard.user.run(&["sessions", "cancel", &made.session]);
    assert_eq!(stdout(&nothing), "nothing is at work in this session\n", "{}", stderr(&nothing));
    let again = yard.user.json(&["runs", "create", "more", "--session", &made.session]);
    assert_eq!(again["run"]["sessionId"], json!(made.session));
}
