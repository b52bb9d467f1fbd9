//! `guildhall chat`, on terminals and in pipes.

use serde_json::{Value, json};

use crate::support::aid_user::AidUser;
use crate::support::terminal::TerminalSession;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

struct Pair {
    _server: DevServer,
    alice: AidUser,
    bobby: AidUser,
}

impl Pair {
    fn start() -> Self {
        let (server, operator) = (DevServer::ephemeral(), CliUser::new());
        operator.login(&server);
        let [alice, bobby] = ["alice", "bobby"].map(|name| AidUser::create(&operator, name));
        [&alice, &bobby].into_iter().for_each(|user| user.log_in(&server.url));
        Self { _server: server, alice, bobby }
    }
}

fn start_chat(user: &AidUser, peer: &AidUser) -> TerminalSession {
    let mut session = TerminalSession::start(user.user.command(&["chat", &peer.aid]).env("NO_COLOR", "1"));
    session.wait_for(&format!("chat with {}", peer.aid));
    session
}

#[test]
fn chat_shows_delivery_typing_and_the_history_of_both() {
    let Pair { alice, bobby, .. } = &Pair::start();
    let (mut one, mut other) = (start_chat(alice, bobby), start_chat(bobby, alice));
    one.type_keys("hellp\u{7f}o\u{1}o, \u{5}!\r");
    other.wait_for("alice");
    other.wait_for(": o, hello!");
    one.wait_for("✓✓");
    other.type_keys("h");
    one.wait_for("[bobby is typing]");
    other.type_keys("i\r");
    one.wait_for(": hi\r\n");
    for session in [&mut one, &mut other] {
        session.type_keys("\u{4}");
    }
    assert_eq!((one.wait().0, other.wait().0), (Some(0), Some(0)));

    let mut again = TerminalSession::start(alice.user.command(&["chat", &bobby.aid]).env("NO_COLOR", "1"));
    let shown = again.wait_for("chat with ");
    let (own, answer) = (shown.find(": o, hello!"), shown.find(": hi"));
    assert!(own.is_some() && own < answer, "{shown}");
    // Ctrl-C leaves too, also with a typed line.
    again.type_keys("not sent\u{3}");
    assert_eq!(again.wait().0, Some(0));
    let history = alice.user.run_with_stdin(&["chat", &bobby.aid, "--json", "-n", "1"], "");
    let last: Value = serde_json::from_slice(&history.stdout).expect("one line");
    assert_eq!((&last["from"], &last["text"]), (&json!(bobby.aid), &json!("hi")));
}

#[test]
fn text_of_the_peer_cannot_control_the_terminal() {
    let Pair { alice, bobby, .. } = &Pair::start();
    let mut session = start_chat(alice, bobby);
    bobby.user.json(&["send", &alice.aid, "--plain", "a\u{1b}[2J\u{9b}1m\u{202e}\u{7}z"]);
    let shown = session.wait_for("z\r\n");
    assert!(shown.contains("bobby (not sealed): a\u{fffd}[2J\u{fffd}1m\u{fffd}\u{fffd}z"), "{shown:?}");
}

#[test]
fn piped_lines_are_sent_in_order_and_answers_are_lines() {
    let Pair { alice, bobby, .. } = &Pair::start();
    let sent = alice.user.run_with_stdin(&["chat", &bobby.aid], "one\n\ntwo\nthree");
    assert_eq!((sent.status.code(), stderr(&sent)), (Some(0), String::new()));
    let read = bobby.user.run_with_stdin(&["chat", &alice.aid, "--json"], "thanks\n");
    let texts: Vec<Value> = stdout(&read)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["text"].clone())
        .collect();
    assert_eq!(texts, ["one", "two", "three"]);
    let answer = stdout(&alice.user.run_with_stdin(&["chat", &bobby.aid], ""));
    let lines: Vec<&str> = answer.lines().filter_map(|line| line.rsplit_once(": ")).map(|it| it.1).collect();
    assert_eq!(lines, ["one", "two", "three", "thanks"]);
}

#[test]
fn piped_chat_waits_for_an_answer_and_says_when_there_is_none() {
    let Pair { alice, bobby, .. } = &Pair::start();
    bobby.user.run_with_stdin(&["chat", &alice.aid], "an earlier message\n");
    let unanswered = alice.user.run_with_stdin(&["chat", &bobby.aid, "--wait", "1s"], "are you there?\n");
    assert_eq!(unanswered.status.code(), Some(1));
    assert!(stderr(&unanswered).contains("bobby.guildhall.test has not answered"), "{}", stderr(&unanswered));
    let answered = std::thread::scope(|scope| {
        let waits =
            scope.spawn(|| alice.user.run_with_stdin(&["chat", &bobby.aid, "--wait", "60s"], "now?\n"));
        let read = || stdout(&bobby.user.run_with_stdin(&["chat", &alice.aid], ""));
        assert!((0..100).any(|_| read().contains("now?")), "the message does not arrive");
        bobby.user.run_with_stdin(&["chat", &alice.aid], "yes\n");
        waits.join().expect("alice's chat")
    });
    let last = stdout(&answered).lines().last().map(str::to_owned);
    assert_eq!((answered.status.code(), last.is_some_and(|line| line.ends_with(": yes"))), (Some(0), true));
}

#[test]
fn chat_refuses_itself_and_says_what_was_not_sent() {
    let Pair { alice, .. } = &Pair::start();
    let own = alice.user.run(&["chat", &alice.aid]);
    assert!(stderr(&own).contains("is your own AID"), "{}", stderr(&own));
    let nobody = alice.user.run_with_stdin(&["chat", "nobody.guildhall.test"], "hi\n");
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("error: a message was not sent"), "{}", stderr(&nobody));
}

#[test]
fn changed_key_of_a_peer_is_refused_until_it_is_trusted() {
    let Pair { alice, bobby, .. } = &Pair::start();
    let send = || alice.user.run(&["send", &bobby.aid, "hello"]);
    assert_eq!(send().status.code(), Some(0));
    let pins = alice.user.config_path(&format!("devices/{}/peers.json", alice.aid));
    let found = std::fs::read_to_string(&pins).expect("a file");
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let key = found[&bobby.aid].as_str().expect("a pinned key");
    let other = "0".repeat(64);
    std::fs::write(&pins, json!({ &bobby.aid: other }).to_string()).expect("written");

    let refused = send();
    let expected = format!(
        "error: the key of {0} has changed: it was {other} at the first contact, and is {key} now\n  next: ask its owner whether \
         that is their key; then: guildhall aid trust {0} --fingerprint {key}\n",
        bobby.aid
    );
    assert_eq!((refused.status.code(), stderr(&refused)), (Some(1), expected));
    let trusted = alice.user.json(&["aid", "trust", &bobby.aid, "--fingerprint", key]);
    assert_eq!(trusted, json!({ "aid": bobby.aid, "fingerprint": key, "earlier": other }));
    assert_eq!(send().status.code(), Some(0));
}
