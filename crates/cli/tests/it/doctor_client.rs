//! `guildhall doctor` on the way to a server.

use serde_json::{Value, json};

use crate::support::surroundings::summary;
use crate::support::user::{Server, User, stdout};

const CHECKS: [&str; 7] = [
    "context",
    "server-name",
    "server-connects",
    "server-guildhall",
    "server-version",
    "signed-in",
    "token-refresh",
];

fn examine(user: &User, args: &[&str]) -> (Value, Option<i32>) {
    let output = user.run(&[&["doctor", "--json"], args].concat());
    (summary(&serde_json::from_slice(&output.stdout).expect("JSON")), output.status.code())
}

fn expected(failed: Option<[&str; 3]>, skipped: &[&str]) -> Value {
    let root = failed.map(|[root, ..]| root);
    let checks = CHECKS.iter().map(|id| match failed {
        Some([root, detail, fix]) if root == *id => json!([id, "failed", detail, fix]),
        Some([root, ..]) if skipped.contains(id) => json!([id, "skipped", root]),
        Some(_) | None => json!([id, "ok"]),
    });
    let checks: Vec<Value> = checks.collect();
    json!({ "v": 1, "mode": "client", "ok": root.is_none(), "rootCause": root, "checks": checks })
}

#[test]
fn from_signed_in_to_signed_out_to_a_server_that_is_away() {
    let (server, user) = (Server::ephemeral(), User::new());
    user.login(&server);
    let before = std::fs::read_to_string(user.kept("tokens.json")).expect("tokens");
    assert_eq!(examine(&user, &[]), (expected(None, &[]), Some(0)));
    let after = std::fs::read_to_string(user.kept("tokens.json")).expect("tokens");
    assert_ne!(before, after, "the refresh token was exchanged for real");
    let me = user.json(&["whoami"]);
    assert_eq!(me["kind"], "user", "and the new one is kept");
    let text = user.run(&["doctor"]);
    for token in
        serde_json::from_str::<Value>(&after).expect("JSON").as_object().expect("by context").values()
    {
        for name in ["accessToken", "refreshToken"] {
            assert!(!stdout(&text).contains(token[name].as_str().expect(name)), "a token is shown");
        }
    }

    std::fs::write(user.kept("tokens.json"), "{}").expect("written");
    let host = server.url.trim_start_matches("http://").to_owned();
    let context = format!("admin@{host}");
    let detail = format!("you are not signed in to {context}");
    let fix = format!("guildhall login --url {}/ --name admin --context {context}", server.url);
    let found = examine(&user, &[]);
    assert_eq!(found, (expected(Some(["signed-in", &detail, &fix]), &["token-refresh"]), Some(1)));

    drop(server);
    let detail = format!("cannot connect to {host}: connection refused");
    let found = examine(&user, &["--context", &context]);
    let skipped = ["server-guildhall", "server-version", "signed-in", "token-refresh"];
    assert_eq!(found, (expected(Some(["server-connects", &detail, "guildhall dev"]), &skipped), Some(1)));
}

#[test]
fn a_login_that_was_ended_elsewhere_is_told() {
    let (server, user) = (Server::ephemeral(), User::new());
    user.login(&server);
    let kept = std::fs::read(user.kept("tokens.json")).expect("tokens");
    user.json(&["logout"]);
    std::fs::write(user.kept("tokens.json"), kept).expect("written");
    let permissions = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    std::fs::set_permissions(user.kept("tokens.json"), permissions).expect("set");
    let (found, code) = examine(&user, &[]);
    assert_eq!((found["rootCause"].as_str(), code), (Some("signed-in"), Some(1)), "{found}");
}

#[test]
fn a_context_that_is_not_there_and_a_server_that_is_no_guildhall_are_told() {
    let user = User::new();
    let skipped = &CHECKS[1..];
    let found = examine(&user, &["--context", "nowhere"]);
    let failed = ["context", "there is no context \"nowhere\"", "guildhall context ls"];
    assert_eq!(found, (expected(Some(failed), skipped), Some(1)));

    let url = something_else();
    let contexts = json!({ "current": "x", "contexts": { "x": { "url": format!("{url}/"), "name": "me" } } });
    std::fs::create_dir_all(user.kept("")).expect("made");
    std::fs::write(user.kept("contexts.json"), contexts.to_string()).expect("written");
    let detail =
        format!("the answer of {url}/ is not what this client expects: not JSON at line 1, column 1");
    let fix = format!("curl -sv {url}/health/live   # is a Guildhall there?");
    let found = examine(&user, &[]);
    let failed = ["server-guildhall", detail.as_str(), fix.as_str()];
    assert_eq!(found, (expected(Some(failed), &["server-version", "signed-in", "token-refresh"]), Some(1)));
}

/// A web server, of which there are many.
fn something_else() -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _head = stream.read(&mut [0; 4096]);
            let _sent =
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>");
        }
    });
    url
}
