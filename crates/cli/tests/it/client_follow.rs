//! `guildhall audit tail -f` while the server goes and comes back.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::user::{Server, User};
use crate::support::wait_until_gone;

/// A running `tail -f`, ended with this value.
struct Tail {
    child: Child,
    lines: Receiver<String>,
}

impl Tail {
    fn start(user: &User) -> Self {
        let mut command = user.command(&["audit", "tail", "-f", "-n", "1", "--json", "--tenant", "acme"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("runs");
        let out = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _nobody_reads = sender.send(line);
            }
        });
        Self { child, lines }
    }

    fn next(&self) -> (i64, String) {
        let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("an entry within 20 s");
        let entry: Value = serde_json::from_str(&line).expect("JSON");
        (entry["seq"].as_i64().expect("a number"), entry["action"].as_str().expect("a word").to_owned())
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn following_goes_on_across_a_restart_and_shows_no_entry_twice() {
    let user = User::new();
    let folder = tempfile::Builder::new().prefix("guildhall-follow-").tempdir().expect("a folder");
    let mut server = Server::kept(folder.path(), "127.0.0.1:0");
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    let make_key = |name: &str| user.json(&["keys", "create", name, "--role", "viewer", "--tenant", "acme"]);
    make_key("first");
    let tail = Tail::start(&user);
    let (mut last, action) = tail.next();
    assert_eq!(action, "key.created");
    let mut expect_one_more = || {
        let (seq, action) = tail.next();
        assert_eq!((seq, action.as_str()), (last + 1, "key.created"));
        last = seq;
    };
    make_key("second");
    expect_one_more();

    let arguments = std::fs::read(format!("/proc/{}/cmdline", tail.child.id())).expect("arguments");
    let kept = std::fs::read_to_string(user.kept("tokens.json")).expect("tokens");
    let arguments = String::from_utf8_lossy(&arguments).into_owned();
    assert!(arguments.split('\0').filter(|it| it.len() > 20).all(|it| !kept.contains(it)), "{arguments}");

    let address = server.url.strip_prefix("http://").expect("http").to_owned();
    server.running.signal(Signal::KILL);
    server.running.wait();
    wait_until_gone(folder.path(), Duration::from_secs(5));
    let server = Server::kept(folder.path(), &address);
    make_key("third");
    expect_one_more();
    make_key("fourth");
    expect_one_more();
    assert!(tail.lines.recv_timeout(Duration::from_millis(800)).is_err(), "an entry came twice");
    drop(server);
}
