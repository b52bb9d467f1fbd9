//! Watching runs, with a runner that is played.

use std::time::{Duration, Instant};

use guildhall_domain::FailureKind;
use guildhall_domain::runs::{Ending, TerminalStatus};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::runner::{Watching, Yard, ending};
use crate::support::user::{Server, stdout};
use crate::support::wait_until_gone;

/// The ids in what `runs create` says.
fn made(line: &str) -> (String, String) {
    let mut words = line.split(' ').skip(1);
    let run = words.next().expect("a run").to_owned();
    (run, words.nth(2).expect("a turn").to_owned())
}

#[test]
fn a_watched_turn_is_told_as_it_happens_and_its_end_is_the_exit_code() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let watching = Watching::start(&yard.user, &["runs", "create", "tidy up", "--watch"]);
    let (run, turn) = made(&watching.line());
    let mut played = yard.claim(&server, &run);
    assert!(watching.line().ends_with("has the run"));
    played.take(&turn);
    let piece = |text: &str| json!({ "text": text, "itemId": "m1" });
    for text in ["I look ", "around.\nThere ", "is a leak: ", &yard.enrolment, "."] {
        played.report(&turn, "assistant_delta", piece(text));
    }
    assert_eq!(watching.line(), "I look around.", "text flows while the turn runs");
    let call =
        |status: &str| json!({ "callId": "c1", "toolName": "shell", "command": "ls", "status": status });
    played.report(&turn, "tool_call", call("started"));
    played.report(&turn, "tool_call", call("completed"));
    played.report(&turn, "assistant_message", json!({ "text": "Tidy now.", "final": true, "itemId": "m2" }));
    played.finish(&turn, &Ending::COMPLETED);
    let watched = watching.end();
    let said = watched.rest.join("\n");
    assert_eq!(watched.code, Some(0), "{said} {}", watched.errors);
    assert!(!said.contains(&yard.enrolment), "a secret was shown");
    assert_eq!(watched.rest[1..], ["  tool shell: ls ... completed", "Tidy now.", "completed"]);
    let next = format!("  next: guildhall runs send {run} '...' goes on; the run stays open\n");
    assert!(watched.errors.ends_with(&next), "{}", watched.errors);

    for (status, kind, code) in [
        (TerminalStatus::Failed, FailureKind::BackendFailed, 1),
        (TerminalStatus::Blocked, FailureKind::ProviderAuthFailed, 1),
        (TerminalStatus::Cancelled, FailureKind::Cancelled, 3),
    ] {
        let watching = Watching::start(&yard.user, &["runs", "send", &run, "again", "--watch"]);
        let turn = watching.line().split(' ').nth(1).expect("a command").to_owned();
        played.take(&turn);
        played.say(&turn, "hm");
        played.finish(&turn, &ending(status, kind, "for a reason"));
        let watched = watching.end();
        let last = if status == TerminalStatus::Cancelled {
            "cancelled: for a reason".to_owned()
        } else {
            format!("{status} ({kind}): for a reason")
        };
        assert_eq!((watched.code, watched.rest), (Some(code), vec!["hm".to_owned(), last]));
        assert!(watched.errors.starts_with("  next: "), "{}", watched.errors);
    }
}

#[test]
fn a_steer_is_watched_in_the_turn_that_it_is_for_and_a_turn_without_the_others() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let made = yard.run(Some("go"));
    let mut played = yard.claim(&server, &made.run);
    played.take(&made.command);
    played.say(&made.command, "before");
    let steering = Watching::start(&yard.user, &["runs", "send", &made.run, "left", "--steer", "--watch"]);
    let line = steering.line();
    assert!(line.ends_with(&format!("(steer) for {}", made.command)), "{line}");
    let waiting = Watching::start(&yard.user, &["runs", "send", &made.run, "next", "--watch"]);
    let next = waiting.line().split(' ').nth(1).expect("a command").to_owned();
    played.say(&made.command, "going left");
    played.finish(&made.command, &Ending::COMPLETED);
    let watched = steering.end();
    assert_eq!(
        (watched.code, watched.rest),
        (Some(0), vec!["going left".to_owned(), "completed".to_owned()])
    );
    played.take(&next);
    played.say(&next, "next");
    played.end(&ending(TerminalStatus::Failed, FailureKind::InfraFailed, "the disk is full"));
    let watched = waiting.end();
    assert_eq!(watched.code, Some(1), "{}", watched.errors);
    assert_eq!(watched.rest, ["next", "failed (infra-failed): the disk is full"]);
}

#[test]
fn a_program_that_watches_gets_what_was_made_and_then_the_events() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let watching = Watching::start(&yard.user, &["runs", "create", "go", "--watch", "--json"]);
    let json = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let made = json(&watching.line());
    let (run, turn) = (&made["run"]["runId"], &made["command"]["commandId"]);
    yard.user.json(&["runs", "cancel", run.as_str().expect("an id")]);
    let watched = watching.end();
    assert_eq!((watched.code, watched.errors.as_str()), (Some(3), ""));
    let events: Vec<Value> = watched.rest.iter().map(|line| json(line)).collect();
    let said: Vec<_> = events.iter().map(|event| (event["seq"].clone(), event["type"].clone())).collect();
    let expected = ["run_status", "command_status", "run_status", "terminal_status"];
    assert_eq!(said, (1..).zip(expected).map(|(seq, kind)| (json!(seq), json!(kind))).collect::<Vec<_>>());
    assert_eq!(&events[3]["commandId"], turn);
}

#[test]
fn who_watches_a_run_that_nobody_has_is_told_so() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let mut watching = Watching::start(&yard.user, &["runs", "create", "go", "--watch"]);
    let (run, _turn) = made(&watching.line());
    let note = watching.note();
    assert!(note.starts_with("It waits for a runner; next: the run ends by itself"), "{note}");
    yard.user.json(&["runs", "cancel", &run]);
    let watched = watching.end();
    assert_eq!(watched.rest.last().map(String::as_str), Some("cancelled: the run was cancelled"));
    assert_eq!(
        (watched.code, watched.errors.as_str()),
        (Some(3), "  next: create another run in the same session\n")
    );
}

#[test]
fn what_has_ended_before_is_told_and_not_waited_for() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let made = yard.run(None);
    yard.user.json(&["runs", "cancel", &made.run]);
    let told = ["  being cancelled", "run cancelled: the run was cancelled"];
    for (after, expected) in [("0", &told[..]), ("900", &told[1..])] {
        let watched =
            Watching::start(&yard.user, &["runs", "events", &made.run, "-f", "--after", after]).end();
        assert_eq!(watched.code, Some(3), "{}", watched.errors);
        assert_eq!(watched.rest, expected, "after {after}");
    }
}

// covers: R9
#[test]
fn following_survives_a_killed_server_with_every_event_once_in_order() {
    let folder = tempfile::Builder::new().prefix("guildhall-runs-").tempdir().expect("a folder");
    let mut server = Server::kept(folder.path(), "127.0.0.1:0");
    let yard = Yard::new(&server);
    let made = yard.run(Some("count"));
    let following = Watching::start(&yard.user, &["runs", "events", &made.run, "-f", "--json"]);
    let mut played = yard.claim(&server, &made.run);
    played.take(&made.command);
    let command = made.command.clone();
    let counting = std::thread::spawn(move || {
        for number in 1..=120 {
            played.say(&command, &format!("{number}"));
            std::thread::sleep(Duration::from_millis(10));
        }
        played
    });
    let event = || serde_json::from_str::<Value>(&following.line()).expect("JSON");
    let mut seen = Vec::new();
    while !seen.iter().any(|event: &Value| event["payload"]["text"] == "20") {
        seen.push(event());
    }
    server.running.signal(Signal::KILL);
    server.running.wait();
    let address = server.url.strip_prefix("http://").expect("http").to_owned();
    wait_until_gone(folder.path(), Duration::from_secs(5));
    // The follower asks at least once a second: by then it knows.
    std::thread::sleep(Duration::from_millis(1500));
    let _server = Server::kept(folder.path(), &address);
    let played = counting.join().expect("counted to the end");
    played.finish(&made.command, &Ending::COMPLETED);
    played.end(&Ending::COMPLETED);

    let watched = following.end();
    assert_eq!(watched.code, Some(0), "{}", watched.errors);
    seen.extend(watched.rest.iter().map(|line| serde_json::from_str(line).expect("JSON")));
    let seqs: Vec<i64> = seen.iter().map(|event| event["seq"].as_i64().expect("a number")).collect();
    assert_eq!(seqs, (1..=i64::try_from(seqs.len()).expect("few")).collect::<Vec<_>>());
    let counted: Vec<&str> = seen.iter().filter_map(|event| event["payload"]["text"].as_str()).collect();
    assert_eq!(counted, (1..=120).map(|number| number.to_string()).collect::<Vec<_>>());
    let kept = stdout(&yard.user.run(&["runs", "events", &made.run, "--json"]));
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(seen, kept, "what was followed is what is kept");
    let notes: Vec<&str> = watched.errors.lines().collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("cannot reach") && notes[1] == "the server answers again", "{notes:?}");
}

#[test]
fn a_reader_that_goes_away_ends_the_following_quietly() {
    let server = Server::ephemeral();
    let yard = Yard::new(&server);
    let made = yard.run(Some("go"));
    let mut played = yard.claim(&server, &made.run);
    played.take(&made.command);
    let mut command = yard.user.command(&["runs", "events", &made.run, "-f", "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("runs");
    drop(child.stdout.take());
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = loop {
        played.say(&made.command, "anyone?");
        if let Some(status) = child.try_wait().expect("a status") {
            break status;
        }
        assert!(Instant::now() < deadline, "still running after 20 s");
    };
    assert_eq!(status.code(), Some(0));
}
