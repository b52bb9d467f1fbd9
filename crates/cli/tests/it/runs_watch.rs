//! `--watch` and `runs events -f`, with a fake runner.

use std::time::{Duration, Instant};

use guildhall_domain::FailureKind;
use guildhall_domain::runs::{TerminalOutcome, TerminalStatus};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::runner::{TenantFixture, WatchedCommand, outcome};
use crate::support::terminal::TerminalSession;
use crate::support::user::{DevServer, stdout};
use crate::support::wait_until_no_process;

/// Reads the run and command ids from the output of `runs create`.
fn created_ids(line: &str) -> (String, String) {
    let mut words = line.split(' ').skip(1);
    let run = words.next().expect("a run").to_owned();
    (run, words.nth(2).expect("a turn").to_owned())
}

#[test]
fn watch_streams_the_turn_and_exits_with_its_outcome() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let watching = WatchedCommand::start(&fixture.user, &["runs", "create", "tidy up", "--watch"]);
    let (run, turn) = created_ids(&watching.read_line());
    let mut runner = fixture.claim_run(&server, &run);
    assert!(watching.read_line().ends_with("claimed the run"));
    runner.ack(&turn);
    let delta = |text: &str| json!({ "text": text, "itemId": "m1" });
    for text in ["I look ", "around.\nThere ", "is a leak: ", &fixture.enrolment_token, "."] {
        runner.append_event(&turn, "assistant_delta", delta(text));
    }
    assert_eq!(watching.read_line(), "I look around.", "text is streamed while the turn runs");
    let call =
        |status: &str| json!({ "callId": "c1", "toolName": "shell", "command": "ls", "status": status });
    runner.append_event(&turn, "tool_call", call("started"));
    runner.append_event(&turn, "tool_call", call("completed"));
    runner.append_event(
        &turn,
        "assistant_message",
        json!({ "text": "Tidy now.", "final": true, "itemId": "m2" }),
    );
    runner.finish_command(&turn, &TerminalOutcome::COMPLETED);
    let watched = watching.wait();
    let received = watched.remaining_lines.join("\n");
    assert_eq!(watched.code, Some(0), "{received} {}", watched.stderr);
    assert!(!received.contains(&fixture.enrolment_token), "a secret was shown");
    assert_eq!(watched.remaining_lines[1..], ["  tool shell: ls ... completed", "Tidy now.", "completed"]);
    let next = format!("  next: the run stays open; `guildhall runs send {run} '...'` sends the next turn\n");
    assert!(watched.stderr.ends_with(&next), "{}", watched.stderr);

    for (status, kind, code) in [
        (TerminalStatus::Failed, FailureKind::BackendFailed, 1),
        (TerminalStatus::Blocked, FailureKind::ProviderAuthFailed, 1),
        (TerminalStatus::Cancelled, FailureKind::Cancelled, 3),
    ] {
        let watching = WatchedCommand::start(&fixture.user, &["runs", "send", &run, "again", "--watch"]);
        let turn = watching.read_line().split(' ').nth(1).expect("a command").to_owned();
        runner.ack(&turn);
        runner.send_message(&turn, "hm");
        runner.finish_command(&turn, &outcome(status, kind, "for a reason"));
        let watched = watching.wait();
        let last = if status == TerminalStatus::Cancelled {
            "cancelled: for a reason".to_owned()
        } else {
            format!("{status} ({kind}): for a reason")
        };
        assert_eq!((watched.code, watched.remaining_lines), (Some(code), vec!["hm".to_owned(), last]));
        assert!(watched.stderr.starts_with("  next: "), "{}", watched.stderr);
    }
}

#[test]
fn watch_shows_only_the_events_of_its_own_turn() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(Some("go"));
    let mut runner = fixture.claim_run(&server, &created.run);
    runner.ack(&created.command);
    runner.send_message(&created.command, "before");
    let steering =
        WatchedCommand::start(&fixture.user, &["runs", "send", &created.run, "left", "--steer", "--watch"]);
    let line = steering.read_line();
    assert!(line.ends_with(&format!("(steer) for {}", created.command)), "{line}");
    let waiting = WatchedCommand::start(&fixture.user, &["runs", "send", &created.run, "next", "--watch"]);
    let next = waiting.read_line().split(' ').nth(1).expect("a command").to_owned();
    runner.send_message(&created.command, "going left");
    runner.finish_command(&created.command, &TerminalOutcome::COMPLETED);
    let watched = steering.wait();
    assert_eq!(
        (watched.code, watched.remaining_lines),
        (Some(0), vec!["going left".to_owned(), "completed".to_owned()])
    );
    runner.ack(&next);
    runner.send_message(&next, "next");
    runner.finish_run(&outcome(TerminalStatus::Failed, FailureKind::InfraFailed, "the disk is full"));
    let watched = waiting.wait();
    assert_eq!(watched.code, Some(1), "{}", watched.stderr);
    assert_eq!(watched.remaining_lines, ["next", "failed (infra-failed): the disk is full"]);
}

#[test]
fn watch_json_prints_the_created_run_and_then_its_events() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let watching = WatchedCommand::start(&fixture.user, &["runs", "create", "go", "--watch", "--json"]);
    let json = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let created = json(&watching.read_line());
    let (run, turn) = (&created["run"]["runId"], &created["command"]["commandId"]);
    fixture.user.json(&["runs", "cancel", run.as_str().expect("an id")]);
    let watched = watching.wait();
    assert_eq!((watched.code, watched.stderr.as_str()), (Some(3), ""));
    let events: Vec<Value> = watched.remaining_lines.iter().map(|line| json(line)).collect();
    let received: Vec<_> = events.iter().map(|event| (event["seq"].clone(), event["type"].clone())).collect();
    let expected = ["run_status", "command_status", "user_message", "run_status", "terminal_status"];
    assert_eq!(
        received,
        (1..).zip(expected).map(|(seq, kind)| (json!(seq), json!(kind))).collect::<Vec<_>>()
    );
    assert_eq!(&events[4]["commandId"], turn);
}

#[test]
fn ctrl_c_stops_to_follow_and_leaves_the_run_open() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let watching = WatchedCommand::start(&fixture.user, &["runs", "create", "go", "--watch"]);
    let (run, turn) = created_ids(&watching.read_line());
    let mut runner = fixture.claim_run(&server, &run);
    runner.ack(&turn);
    runner.send_message(&turn, "on it");
    while watching.read_line() != "on it" {}
    let last = fixture.user.json(&["runs", "show", &run])["lastSeq"].clone();
    watching.signal(Signal::INT);
    let watched = watching.wait();
    assert_eq!(watched.code, Some(130));
    let expected = format!(
        "stopped to follow {run}: it goes on\n  next: `guildhall runs events {run} -f --after {last}` follows it again, \
         `guildhall runs cancel {run}` cancels it\n"
    );
    assert!(watched.stderr.ends_with(&expected), "{}", watched.stderr);
    assert_eq!(fixture.user.json(&["runs", "show", &run])["status"], "running");

    let following = WatchedCommand::start(&fixture.user, &["runs", "events", &run, "-f", "--json"]);
    following.read_line();
    following.signal(Signal::INT);
    let watched = following.wait();
    let error: Value = serde_json::from_str(&watched.stderr).expect("JSON");
    assert_eq!((watched.code, &error["failureKind"]), (Some(130), &json!("interrupted")));
}

#[test]
fn watch_reports_that_the_run_waits_for_a_runner() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let mut watching = WatchedCommand::start(&fixture.user, &["runs", "create", "go", "--watch"]);
    let (run, _turn) = created_ids(&watching.read_line());
    let stderr_line = watching.read_stderr_line();
    assert!(
        stderr_line.starts_with("It waits for a runner; next: the run ends automatically"),
        "{stderr_line}"
    );
    fixture.user.json(&["runs", "cancel", &run]);
    let watched = watching.wait();
    assert_eq!(watched.remaining_lines.last().map(String::as_str), Some("cancelled: the run was cancelled"));
    assert_eq!(
        (watched.code, watched.stderr.as_str()),
        (Some(3), "  next: create another run in the same session\n")
    );
}

#[test]
fn idle_run_on_a_terminal_still_shows_its_next_event() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(Some("go"));
    let mut terminal = TerminalSession::start(&fixture.user.command(&["runs", "events", &created.run, "-f"]));
    // By then the follower polls as rarely as the status line is renewed.
    terminal.wait_for("[0:05] waits for a runner");
    fixture.user.json(&["runs", "cancel", &created.run]);
    terminal.wait_for("run cancelled: the run was cancelled");
    assert_eq!(terminal.wait().0, Some(3));
}

#[test]
fn events_follow_of_an_ended_run_exits_at_once() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(None);
    fixture.user.json(&["runs", "cancel", &created.run]);
    let expected_lines = ["  cancelling", "run cancelled: the run was cancelled"];
    for (after, expected) in [("0", &expected_lines[..]), ("900", &expected_lines[1..])] {
        let watched =
            WatchedCommand::start(&fixture.user, &["runs", "events", &created.run, "-f", "--after", after])
                .wait();
        assert_eq!(watched.code, Some(3), "{}", watched.stderr);
        assert_eq!(watched.remaining_lines, expected, "after {after}");
    }
}

// covers: R9
#[test]
fn events_follow_survives_server_kill_without_gap_or_duplicate() {
    let folder = tempfile::Builder::new().prefix("guildhall-runs-").tempdir().expect("a folder");
    let mut server = DevServer::persistent(folder.path(), "127.0.0.1:0");
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(Some("count"));
    let mut following =
        WatchedCommand::start(&fixture.user, &["runs", "events", &created.run, "-f", "--json"]);
    let mut runner = fixture.claim_run(&server, &created.run);
    runner.ack(&created.command);
    let command = created.command.clone();
    let writer = std::thread::spawn(move || {
        for number in 1..=120 {
            runner.send_message(&command, &format!("{number}"));
            std::thread::sleep(Duration::from_millis(10));
        }
        runner
    });
    let mut events = Vec::new();
    while !events.iter().any(|event: &Value| event["payload"]["text"] == "20") {
        events.push(serde_json::from_str::<Value>(&following.read_line()).expect("JSON"));
    }
    server.process.signal(Signal::KILL);
    server.process.wait();
    let address = server.url.strip_prefix("http://").expect("http").to_owned();
    wait_until_no_process(folder.path(), Duration::from_secs(5));
    // The follower notices the outage.
    let outage_message = following.read_stderr_line();
    assert!(outage_message.contains("cannot reach"), "{outage_message:?}");
    let _server = DevServer::persistent(folder.path(), &address);
    let runner = writer.join().expect("the writer thread finished");
    runner.finish_command(&created.command, &TerminalOutcome::COMPLETED);
    runner.finish_run(&TerminalOutcome::COMPLETED);

    let watched = following.wait();
    assert_eq!(watched.code, Some(0), "{}", watched.stderr);
    events.extend(watched.remaining_lines.iter().map(|line| serde_json::from_str(line).expect("JSON")));
    let seqs: Vec<i64> = events.iter().map(|event| event["seq"].as_i64().expect("a number")).collect();
    assert_eq!(seqs, (1..=i64::try_from(seqs.len()).expect("fits in i64")).collect::<Vec<_>>());
    let messages = events.iter().filter(|event| event["type"] == "assistant_message");
    let texts: Vec<&str> = messages.filter_map(|event| event["payload"]["text"].as_str()).collect();
    assert_eq!(texts, (1..=120).map(|number| number.to_string()).collect::<Vec<_>>());
    let stored = stdout(&fixture.user.run(&["runs", "events", &created.run, "--json"]));
    let stored: Vec<Value> = stored.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(events, stored, "the followed events differ from the stored events");
    assert_eq!(watched.stderr.lines().collect::<Vec<_>>(), ["the server is reachable again"]);
}

#[test]
fn events_follow_exits_0_when_its_reader_closes_the_pipe() {
    let server = DevServer::ephemeral();
    let fixture = TenantFixture::new(&server);
    let created = fixture.create_run(Some("go"));
    let mut runner = fixture.claim_run(&server, &created.run);
    runner.ack(&created.command);
    let mut command = fixture.user.command(&["runs", "events", &created.run, "-f", "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("the command starts");
    drop(child.stdout.take());
    let deadline = Instant::now() + Duration::from_secs(120);
    let status = loop {
        runner.send_message(&created.command, "anyone?");
        if let Some(status) = child.try_wait().expect("a status") {
            break status;
        }
        assert!(Instant::now() < deadline, "still running after 120 s");
    };
    assert_eq!(status.code(), Some(0));
}
