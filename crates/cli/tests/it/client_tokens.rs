//! Refreshing: a refresh token is good for one use, whatever runs at the same time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::user::{Server, User, stderr};

/// Commands that run at once.
const AT_ONCE: usize = 8;

fn all_at_once(user: &User) {
    let start = || {
        let mut command = user.command(&["whoami", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs")
    };
    let started: Vec<_> = (0..AT_ONCE).map(|_| start()).collect();
    for child in started {
        let output = child.wait_with_output().expect("ran");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn commands_that_refresh_at_once_all_succeed_again_and_again() {
    let (server, user) = (Server::ephemeral(), User::new());
    user.login(&server);
    for _ in 0..4 {
        user.expire();
        all_at_once(&user);
    }
    let mode = std::fs::metadata(user.kept("tokens.json")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(server.url.starts_with("http://127.0.0.1:"));
}

/// A real server forgives a second use for some seconds. This one counts.
#[test]
fn one_refresh_token_is_sent_once_however_many_commands_need_it() {
    let user = User::new();
    let refreshed = Arc::new(AtomicUsize::new(0));
    let url = fake_server(Arc::clone(&refreshed));
    let login = ["login", "--url", &url, "--name", "ada", "--password-stdin"];
    assert_eq!(user.run_with(&login, "secret").status.code(), Some(0));
    for round in 1..=3 {
        user.expire();
        all_at_once(&user);
        assert_eq!(refreshed.load(Ordering::SeqCst), round);
    }
}

#[test]
fn tokens_are_sent_to_no_other_server_than_their_own() {
    let user = User::new();
    let url = fake_server(Arc::default());
    let login = ["login", "--url", &url, "--name", "ada", "--context", "x", "--password-stdin"];
    assert_eq!(user.run_with(&login, "secret").status.code(), Some(0));
    user.json(&["whoami"]);
    let contexts = std::fs::read_to_string(user.kept("contexts.json")).expect("contexts");
    let other = fake_server(Arc::default());
    std::fs::write(user.kept("contexts.json"), contexts.replace(&url, &other)).expect("written");
    let output = user.run(&["whoami"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}

/// Answers sign-ins, refreshes and whoami, and counts the refreshes.
fn fake_server(refreshed: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let refreshed = Arc::clone(&refreshed);
            std::thread::spawn(move || answer(stream, &refreshed));
        }
    });
    url
}

fn answer(mut stream: TcpStream, refreshed: &AtomicUsize) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    let _read = stream.read_exact(&mut body);
    let text = if head.contains("/whoami") {
        r#"{"principal":"prn_1","kind":"user","operator":false,"tenants":[]}"#.to_owned()
    } else {
        let number = if head.contains("/refresh") { refreshed.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
        format!(
            r#"{{"principal":"prn_1","accessToken":"a{number}","accessExpiresAt":"2099-01-01T00:00:00Z","refreshToken":"r{number}"}}"#
        )
    };
    let length = text.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ";
    let _sent = write!(stream, "{head}{length}\r\n\r\n{text}");
}
