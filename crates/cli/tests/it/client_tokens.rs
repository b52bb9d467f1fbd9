//! Token refresh with concurrent commands: a refresh token can be used only once.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::user::{CliUser, DevServer, stderr};

/// Number of concurrent commands.
const CONCURRENT_COMMANDS: usize = 8;

fn run_concurrent_commands(user: &CliUser) {
    let start = || {
        let mut command = user.command(&["whoami", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    };
    let children: Vec<_> = (0..CONCURRENT_COMMANDS).map(|_| start()).collect();
    for child in children {
        let output = child.wait_with_output().expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn concurrent_commands_with_expired_tokens_all_succeed() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    for _ in 0..4 {
        user.expire_tokens();
        run_concurrent_commands(&user);
    }
    let mode = std::fs::metadata(user.config_path("tokens.json")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(server.url.starts_with("http://127.0.0.1:"));
}

/// A real server accepts a second use for a few seconds, so a fake server counts the refreshes.
#[test]
fn refresh_token_is_sent_once_by_concurrent_commands() {
    let user = CliUser::new();
    let refresh_count = Arc::new(AtomicUsize::new(0));
    let url = fake_server(Arc::clone(&refresh_count));
    let login = ["login", "--url", &url, "--name", "ada", "--password-stdin"];
    assert_eq!(user.run_with_stdin(&login, "secret").status.code(), Some(0));
    for round in 1..=3 {
        user.expire_tokens();
        run_concurrent_commands(&user);
        assert_eq!(refresh_count.load(Ordering::SeqCst), round);
    }
}

#[test]
fn tokens_are_not_sent_to_another_server() {
    let user = CliUser::new();
    let url = fake_server(Arc::default());
    let login = ["login", "--url", &url, "--name", "ada", "--context", "x", "--password-stdin"];
    assert_eq!(user.run_with_stdin(&login, "secret").status.code(), Some(0));
    user.json(&["whoami"]);
    let contexts = std::fs::read_to_string(user.config_path("contexts.json")).expect("contexts");
    let other = fake_server(Arc::default());
    std::fs::write(user.config_path("contexts.json"), contexts.replace(&url, &other)).expect("written");
    let output = user.run(&["whoami"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
}

/// A fake server for login, refresh and whoami that counts the refreshes.
fn fake_server(refresh_count: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let refresh_count = Arc::clone(&refresh_count);
            std::thread::spawn(move || serve_request(stream, &refresh_count));
        }
    });
    url
}

fn serve_request(mut stream: TcpStream, refresh_count: &AtomicUsize) {
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
        let number =
            if head.contains("/refresh") { refresh_count.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
        format!(
            r#"{{"principal":"prn_1","accessToken":"a{number}","accessExpiresAt":"2099-01-01T00:00:00Z","refreshToken":"r{number}"}}"#
        )
    };
    let length = text.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ";
    let _sent = write!(stream, "{head}{length}\r\n\r\n{text}");
}
