//! Errors as text and, with `--json`, as JSON.

use std::net::TcpListener;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::user::{CliUser, stderr, stdout};

/// Returns the error object of a failed command.
fn error_of(output: &Output) -> Value {
    assert_eq!(stdout(output), "");
    serde_json::from_str(&stderr(output))
        .unwrap_or_else(|_| panic!("not one JSON object: {}", stderr(output)))
}

const START_SERVER: &str = "start a server on this machine with `guildhall dev`, or sign in to another with `guildhall login --url URL`";

/// Returns a URL that refuses connections.
fn closed_url() -> String {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    format!("http://{}", port.expect("a free port"))
}

#[test]
fn errors_with_json_are_one_object_on_stderr() {
    let user = CliUser::new();
    let signed_out = user.run(&["whoami", "--json"]);
    assert_eq!(signed_out.status.code(), Some(5));
    assert_eq!(
        error_of(&signed_out),
        json!({
            "failureKind": "unauthenticated", "message": "you are not signed in", "causes": [],
            "next": "`guildhall login` signs you in", "exitCode": 5,
        })
    );
    let missing = user.run(&["context", "use", "third", "--json"]);
    assert_eq!(missing.status.code(), Some(4));
    assert_eq!(
        error_of(&missing),
        json!({
            "failureKind": "not-found", "message": "context \"third\" not found", "causes": [],
            "next": "`guildhall context ls` lists all contexts", "exitCode": 4,
        })
    );
    let url = closed_url();
    let login = ["login", "--url", &url, "--name", "ada", "--password-stdin", "--json"];
    let unreachable = user.run_with_stdin(&login, "secret");
    assert_eq!(unreachable.status.code(), Some(1));
    assert_eq!(
        error_of(&unreachable),
        json!({
            "failureKind": "server-unreachable", "message": format!("cannot reach the server at {url}/"),
            "causes": ["Connection refused (os error 111)"],
            "next": START_SERVER, "exitCode": 1,
        })
    );
}

#[test]
fn usage_error_with_json_is_one_object_on_stderr() {
    let user = CliUser::new();
    let unknown = user.run(&["runs", "ls", "--json", "--everything"]);
    assert_eq!(unknown.status.code(), Some(2));
    let error = error_of(&unknown);
    assert_eq!((&error["failureKind"], &error["exitCode"]), (&json!("usage-error"), &json!(2)));
    assert_eq!(error["message"], "unexpected argument '--everything' found");
    assert!(
        error["next"].as_str().is_some_and(|next| next.starts_with("Usage: guildhall runs ls")),
        "{error}"
    );
    let text = user.run(&["runs", "ls", "--everything"]);
    assert!(stderr(&text).starts_with("error: unexpected argument"), "{}", stderr(&text));
}

#[test]
fn error_text_has_one_reason_and_one_next_step() {
    let (user, url) = (CliUser::new(), closed_url());
    let login = ["login", "--url", &url, "--name", "ada", "--password-stdin"];
    let output = user.run_with_stdin(&login, "secret");
    assert_eq!(
        stderr(&output),
        format!(
            "error: cannot reach the server at {url}/\n  because: Connection refused (os error 111)\n  \
             next: {START_SERVER}\n"
        )
    );
}
