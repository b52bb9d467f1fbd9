//! `guildhall audit tail -f` across a server restart.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::user::{CliUser, DevServer};
use crate::support::wait_until_no_process;

/// A running `tail -f`, killed when this value is dropped.
struct TailProcess {
    child: Child,
    lines: Receiver<String>,
}

impl TailProcess {
    fn start(user: &CliUser) -> Self {
        let mut command = user.command(&["audit", "tail", "-f", "-n", "1", "--json", "--tenant", "acme"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
        let stdout = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _receiver_dropped = sender.send(line);
            }
        });
        Self { child, lines }
    }

    fn next_entry(&self) -> (i64, String) {
        let line = self.lines.recv_timeout(Duration::from_secs(120)).expect("an entry within 120 s");
        let entry: Value = serde_json::from_str(&line).expect("JSON");
        (entry["seq"].as_i64().expect("a number"), entry["action"].as_str().expect("an action").to_owned())
    }
}

impl Drop for TailProcess {
    fn drop(&mut self) {
        let _already_exited = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn audit_tail_follow_survives_a_restart_without_duplicates() {
    let user = CliUser::new();
    let folder = tempfile::Builder::new().prefix("guildhall-follow-").tempdir().expect("a folder");
    let mut server = DevServer::persistent(folder.path(), "127.0.0.1:0");
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    let create_key =
        |name: &str| user.json(&["keys", "create", name, "--role", "viewer", "--tenant", "acme"]);
    create_key("first");
    let tail = TailProcess::start(&user);
    let (mut last, action) = tail.next_entry();
    assert_eq!(action, "key.created");
    let mut expect_next_entry = || {
        let (seq, action) = tail.next_entry();
        assert_eq!((seq, action.as_str()), (last + 1, "key.created"));
        last = seq;
    };
    create_key("second");
    expect_next_entry();

    let arguments = std::fs::read(format!("/proc/{}/cmdline", tail.child.id())).expect("arguments");
    let stored_tokens = std::fs::read_to_string(user.config_path("tokens.json")).expect("tokens");
    let arguments = String::from_utf8_lossy(&arguments).into_owned();
    assert!(
        arguments.split('\0').filter(|it| it.len() > 20).all(|it| !stored_tokens.contains(it)),
        "{arguments}"
    );

    let address = server.url.strip_prefix("http://").expect("http").to_owned();
    server.process.signal(Signal::KILL);
    server.process.wait();
    wait_until_no_process(folder.path(), Duration::from_secs(5));
    let server = DevServer::persistent(folder.path(), &address);
    create_key("third");
    expect_next_entry();
    create_key("fourth");
    expect_next_entry();
    assert!(tail.lines.recv_timeout(Duration::from_millis(800)).is_err(), "an entry was printed twice");
    drop(server);
}
