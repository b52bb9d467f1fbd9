//! `guildhall send` and `guildhall inbox`.

use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::aun_clients::replicas::{AunReplicas, Registration};
use crate::support::ChildProcess;
use crate::support::aid_user::AidUser;

use crate::support::channels::CapturedOutput;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// Two users of one server.
struct Pair {
    server: DevServer,
    alice: AidUser,
    bobby: AidUser,
}

impl Pair {
    fn start() -> Self {
        Self::on(DevServer::ephemeral())
    }

    fn on(server: DevServer) -> Self {
        let operator = CliUser::new();
        operator.login(&server);
        let [alice, bobby] = ["alice", "bobby"].map(|name| AidUser::create(&operator, name));
        [&alice, &bobby].into_iter().for_each(|user| user.log_in(&server.url));
        Self { server, alice, bobby }
    }
}

fn texts(lines: &str) -> Vec<String> {
    let items = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    items.map(|item| item["payload"]["text"].as_str().expect("a text").to_owned()).collect()
}

/// Returns the parts of a line of `guildhall inbox` after its time.
fn without_time(line: &str) -> &str {
    line.split_once("Z  ").expect("a time").1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_on_two_replicas_send_and_follow() {
    let replicas = AunReplicas::start(Registration::Closed, 2).await;
    let operator = replicas.operator();
    let [alice, bobby] = ["alice", "bobby"].map(|name| AidUser::create(&operator, name));
    alice.log_in(&replicas.url(0));
    bobby.log_in(&replicas.url(1));
    let mut following = ChildProcess::start(&mut bobby.user.command(&["inbox", "-f"]));
    let sent = alice.user.json(&["send", &bobby.aid, "hello\u{1b}[2J"]);
    assert_eq!((&sent["to"], &sent["repeated"]), (&json!(bobby.aid), &json!(false)));
    let line = following.read_line();
    assert!(line.contains(&alice.aid) && line.ends_with("  hello\u{fffd}[2J\n"), "{line:?}");
    let answer = bobby.user.run_with_stdin(&["send", &alice.aid, "-"], "one\ntwo\n");
    assert!(answer.status.success(), "{}", stderr(&answer));
    let read = alice.user.run(&["inbox"]);
    assert!(without_time(&stdout(&read)).ends_with("  one ⏎ two\n"), "{}{}", stdout(&read), stderr(&read));
    let again = alice.user.run(&["inbox"]);
    assert_eq!((stdout(&again), stderr(&again)), (String::new(), "no new messages\n".to_owned()));
    following.signal(Signal::INT);
    assert_eq!(following.wait().code(), Some(130));
    let rest = bobby.user.run(&["inbox", "--json"]);
    assert_eq!(stdout(&rest), "", "what was shown is confirmed");
}

/// What was printed last may not be confirmed when the command is killed: only that may come again.
#[test]
fn killed_inbox_continues_without_loss_and_repeats_nothing_confirmed() {
    const MESSAGES: usize = 40;
    let Pair { server: _server, alice, bobby } = Pair::start();
    let numbers: Vec<String> = (0..MESSAGES).map(|number| number.to_string()).collect();
    let input = format!("{}\n", numbers.join("\n"));
    let sent = alice.user.run_with_stdin(&["chat", &bobby.aid], &input);
    assert!(sent.status.success(), "{}", stderr(&sent));
    let mut all: Vec<String> = Vec::new();
    for run in 1..=4 {
        let mut following = ChildProcess::start(&mut bobby.user.command(&["inbox", "-f", "--json"]));
        let mut lines: String = (0..run * 3).map(|_| following.read_line()).collect();
        following.signal(Signal::KILL);
        // What was printed before it was killed.
        lines.push_str(&following.remaining_stdout());
        append(&mut all, texts(&lines));
    }
    let rest = bobby.user.run(&["inbox", "--json"]);
    append(&mut all, texts(&stdout(&rest)));
    assert_eq!(all, numbers);
}

/// Appends what a run has printed. It may begin with the last item of the run before.
fn append(all: &mut Vec<String>, printed: Vec<String>) {
    let is_repeated = printed.first().is_some_and(|first| all.last() == Some(first));
    all.extend(printed.into_iter().skip(usize::from(is_repeated)));
}

#[test]
fn messages_that_are_not_confirmed_are_shown_again() {
    let Pair { server: _server, alice, bobby } = Pair::start();
    alice.user.json(&["send", &bobby.aid, "hello", "--plain"]);
    for args in [["inbox", "--no-ack"].as_slice(), &["inbox", "--no-ack"], &["inbox"]] {
        let shown = stdout(&bobby.user.run(args));
        assert_eq!(without_time(&shown), format!("{}  plain   hello\n", alice.aid));
    }
    assert_eq!(stdout(&bobby.user.run(&["inbox"])), "");
}

#[test]
fn payloads_and_their_errors_are_those_of_the_cli() {
    let Pair { server: _server, alice, bobby } = Pair::start();
    let payload = json!({ "type": "order", "id": 7 });
    let args = ["send", &bobby.aid, "--plain", "--message-id", "m-1", "--payload", &payload.to_string()];
    let first = alice.user.json(&args);
    assert_eq!((&first["messageId"], &first["seal"]), (&json!("m-1"), &json!("none")));
    assert_eq!(alice.user.json(&args)["repeated"], json!(true));
    let received: Value =
        serde_json::from_slice(&bobby.user.run(&["inbox", "--json"]).stdout).expect("one line");
    assert_eq!((&received["messageId"], &received["payload"]), (&json!("m-1"), &payload));
    let code = |args: &[&str]| {
        let output: Output = alice.user.run(args);
        (output.status.code(), stdout(&output))
    };
    assert_eq!(code(&["send", "nobody.guildhall.test", "hi", "--plain"]), (Some(4), String::new()));
    for args in
        [["send", &bobby.aid, ""].as_slice(), &["send", &bobby.aid], &["send", &bobby.aid, "--payload", "[]"]]
    {
        assert_eq!(code(args), (Some(2), String::new()), "{args:?}");
    }
}

#[test]
fn key_and_tokens_are_in_no_output_argument_or_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let Pair { server, alice, bobby } = Pair::on(DevServer::ephemeral_with_detailed_log(&log));
    let mut channels = CapturedOutput::default();
    let mut following = ChildProcess::start(&mut alice.user.command(&["inbox", "-f"]));
    let mut run = |args: &[&str]| {
        for json in [None, Some("--json")] {
            let args: Vec<&str> = args.iter().copied().chain(json).collect();
            let output = alice.user.run(&args);
            channels.add("command", [stdout(&output), stderr(&output)].concat());
        }
    };
    for args in [
        ["aid", "login", &alice.aid].as_slice(),
        &["aid", "logins"],
        &["rpc", "meta.status"],
        &["rpc", "message.send", "{}"],
        &["send", &bobby.aid, "public text"],
        &["chat", &bobby.aid],
        &["inbox"],
    ] {
        run(args);
    }
    let mut secrets: Vec<String> = Vec::new();
    for user in [&alice, &bobby] {
        let tokens = user.stored_login()["tokens"].clone();
        let text = |name: &str| tokens[name].as_str().expect("a token").to_owned();
        let key = std::fs::read_to_string(user.key_file()).expect("a key");
        secrets.extend([
            text("accessToken"),
            text("refreshToken"),
            key.lines().nth(1).expect("PEM").to_owned(),
        ]);
    }
    channels
        .add("arguments", std::fs::read(format!("/proc/{}/cmdline", following.pid())).expect("arguments"));
    channels
        .add("environment", std::fs::read(format!("/proc/{}/environ", following.pid())).expect("variables"));
    following.signal(Signal::INT);
    channels.add("command", following.remaining_stderr());
    drop(server);
    channels.add("log", std::fs::read(&log).expect("a log"));
    for (channel, text) in
        [("command", alice.aid.as_str()), ("arguments", "inbox"), ("log", "socket authenticated")]
    {
        assert!(channels.channels_containing(text).contains(&channel), "nothing was captured on {channel}");
    }
    for secret in secrets {
        assert_eq!(channels.channels_containing(&secret), Vec::<&str>::new(), "{secret}");
    }
}

/// Programs read the output line by line: `head` ends the command without an error.
#[test]
fn inbox_into_a_closed_pipe_is_no_error() {
    let Pair { server: _server, alice, bobby } = Pair::start();
    alice.user.run_with_stdin(&["chat", &bobby.aid], "one\ntwo\n");
    let mut child: Command = bobby.user.command(&["inbox", "-f"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    alice.user.run(&["send", &bobby.aid, "three"]);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let shown = stdout(&bobby.user.run(&["inbox"]));
    assert_eq!(shown.lines().count(), 3, "nothing was confirmed: {shown}");
}
