//! `guildhall doctor` for a client's connection to a server.

use serde_json::{Value, json};

use crate::support::doctor::report_summary;
use crate::support::user::{CliUser, DevServer, stdout};

const CHECKS: [&str; 7] = [
    "context",
    "server-name",
    "server-connects",
    "server-guildhall",
    "server-version",
    "signed-in",
    "token-refresh",
];

fn run_doctor(user: &CliUser, args: &[&str]) -> (Value, Option<i32>) {
    let output = user.run(&[&["doctor", "--json"], args].concat());
    (report_summary(&serde_json::from_slice(&output.stdout).expect("JSON")), output.status.code())
}

fn expected(failed: Option<[&str; 3]>, skipped: &[&str]) -> Value {
    let root_cause = failed.map(|[root_cause, ..]| root_cause);
    let checks = CHECKS.iter().map(|id| match failed {
        Some([root_cause, detail, fix]) if root_cause == *id => json!([id, "failed", detail, fix]),
        Some([root_cause, ..]) if skipped.contains(id) => json!([id, "skipped", root_cause]),
        Some(_) | None => json!([id, "ok"]),
    });
    let checks: Vec<Value> = checks.collect();
    json!({ "v": 1, "mode": "client", "ok": root_cause.is_none(), "rootCause": root_cause, "checks": checks })
}

#[test]
fn client_checks_detect_sign_out_and_unreachable_server() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let before = std::fs::read_to_string(user.config_path("tokens.json")).expect("tokens");
    assert_eq!(run_doctor(&user, &[]), (expected(None, &[]), Some(0)));
    let after = std::fs::read_to_string(user.config_path("tokens.json")).expect("tokens");
    assert_ne!(before, after, "the refresh token was not exchanged");
    let me = user.json(&["whoami"]);
    assert_eq!(me["kind"], "user", "the new token is not stored");
    let text = user.run(&["doctor"]);
    for token in
        serde_json::from_str::<Value>(&after).expect("JSON").as_object().expect("tokens by context").values()
    {
        for name in ["accessToken", "refreshToken"] {
            assert!(!stdout(&text).contains(token[name].as_str().expect(name)), "a token is shown");
        }
    }

    std::fs::write(user.config_path("tokens.json"), "{}").expect("written");
    let host = server.url.trim_start_matches("http://").to_owned();
    let context = format!("admin@{host}");
    let detail = format!("you are not signed in to {context}");
    let fix = format!("guildhall login --url {}/ --name admin --context {context}", server.url);
    let result = run_doctor(&user, &[]);
    assert_eq!(result, (expected(Some(["signed-in", &detail, &fix]), &["token-refresh"]), Some(1)));

    drop(server);
    let detail = format!("cannot connect to {host}: connection refused");
    let result = run_doctor(&user, &["--context", &context]);
    let skipped = ["server-guildhall", "server-version", "signed-in", "token-refresh"];
    assert_eq!(result, (expected(Some(["server-connects", &detail, "guildhall dev"]), &skipped), Some(1)));
}

#[test]
fn login_revoked_elsewhere_is_reported() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let stored_tokens = std::fs::read(user.config_path("tokens.json")).expect("tokens");
    user.json(&["logout"]);
    std::fs::write(user.config_path("tokens.json"), stored_tokens).expect("written");
    let permissions = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    std::fs::set_permissions(user.config_path("tokens.json"), permissions).expect("set");
    let (result, code) = run_doctor(&user, &[]);
    assert_eq!((result["rootCause"].as_str(), code), (Some("signed-in"), Some(1)), "{result}");
}

#[test]
fn unknown_context_and_foreign_server_are_reported() {
    let user = CliUser::new();
    let skipped = &CHECKS[1..];
    let result = run_doctor(&user, &["--context", "nowhere"]);
    let failed = ["context", "context \"nowhere\" not found", "guildhall context ls"];
    assert_eq!(result, (expected(Some(failed), skipped), Some(1)));

    let url = start_other_web_server();
    let contexts = json!({ "current": "x", "contexts": { "x": { "url": format!("{url}/"), "name": "me" } } });
    std::fs::create_dir_all(user.config_path("")).expect("created");
    std::fs::write(user.config_path("contexts.json"), contexts.to_string()).expect("written");
    let detail = format!("unexpected response from {url}/: not JSON at line 1, column 1");
    let fix = format!("curl -sv {url}/health/live   # is this a Guildhall server?");
    let result = run_doctor(&user, &[]);
    let failed = ["server-guildhall", detail.as_str(), fix.as_str()];
    assert_eq!(result, (expected(Some(failed), &["server-version", "signed-in", "token-refresh"]), Some(1)));
}

/// Starts a web server that is not a Guildhall server.
fn start_other_web_server() -> String {
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
