//! `guildhall login --oidc`, with a real provider and a real browser.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use guildhall_testkit::{Node, Script};
use serde_json::{Value, json};

use crate::support::Running;
use crate::support::user::{Server, User, stderr};

/// Asks something of the port on which a command waits.
fn knock(port: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_command_is_signed_in_by_a_browser_and_what_the_browser_saw_is_of_no_use() {
    let listen = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
    let callback = format!("http://{listen}/api/v1/auth/oidc/callback");
    let provider = Node::start(Script::Provider, &json!({ "redirectUris": [callback] }));
    let issuer = provider.said["issuer"].as_str().expect("an issuer");
    let secret = "known only to tests & to the server";
    let (server, admin, ada) =
        (Server::with_provider(&listen.to_string(), issuer, secret), User::new(), User::new());
    admin.login(&server);
    admin.json(&["tenants", "create", "acme"]);
    let made = admin.json(&["invitations", "create", "--role", "developer", "--tenant", "acme"]);

    let mut login = ada.command(&["login", "--url", &server.url, "--oidc", "--invited", "--json"]);
    let invitation = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(invitation.path(), made["secret"].as_str().expect("a secret")).expect("written");
    login.stdin(Stdio::from(invitation.reopen().expect("open")));
    let mut login = Running::start(&mut login);
    let url = login.error_line(|line| line.contains("cli=")).trim().to_owned();
    let port = url.split("cli=").nth(1).and_then(|rest| rest.split('.').next()).expect("a port");
    let stray = knock(port, "GET /callback?code=ghh_x&challenge=guessed HTTP/1.1\r\n\r\n");
    assert!(stray.starts_with("HTTP/1.1 404"), "{stray}");

    let profile = tempfile::tempdir().expect("a folder");
    let until = format!("http://127.0.0.1:{port}/callback");
    let told = json!({ "url": url, "login": "ada", "until": until, "profile": profile.path() });
    let shown = Node::run(Script::Browser, &told);
    assert_eq!(shown["text"], "You are signed in. Go back to the terminal; this page can be closed.");
    let signed_in: Value = serde_json::from_str(&login.line()).expect("JSON");
    assert_eq!(signed_in["context"], format!("oidc@{listen}"));
    assert_eq!(login.wait().code(), Some(0));
    let who = ada.json(&["whoami"]);
    assert_eq!(
        (&who["principal"], &who["tenants"][0]["role"]),
        (&signed_in["principal"], &json!("developer"))
    );

    let kept = std::fs::read_to_string(ada.kept("tokens.json")).expect("tokens");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    let tokens = kept.as_object().expect("by context").values().next().expect("one");
    for name in ["accessToken", "refreshToken"] {
        let token = tokens[name].as_str().expect("a token");
        assert!(!shown.to_string().contains(token), "the browser saw the {name}");
    }
    let code = shown["url"].as_str().expect("an address").split("code=").nth(1).expect("a code");
    let code = code.split('&').next().expect("a code");
    let body = json!({ "code": code, "verifier": "guessed" }).to_string();
    let again = knock(
        &listen.port().to_string(),
        &format!(
            "POST /api/v1/auth/handoff HTTP/1.1\r\nhost: {listen}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
    );
    assert!(again.starts_with("HTTP/1.1 403") && again.contains("sign-in-refused"), "{again}");
    ada.expire();
    assert_eq!(ada.json(&["whoami"]), who, "the login is refreshed as any other");
    ada.json(&["logout"]);
    assert_eq!(ada.run(&["whoami"]).status.code(), Some(3));
}

#[test]
fn a_password_beside_the_provider_is_wrong_usage() {
    for args in [&["login", "--oidc", "--name", "ada"][..], &["login", "--invited"]] {
        let output = User::new().run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    }
}
