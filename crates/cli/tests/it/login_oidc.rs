//! `guildhall login --oidc` with a real identity provider and a real browser.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use guildhall_testkit::{NodeProcess, NodeScript};
use serde_json::{Value, json};

use crate::support::ChildProcess;
use crate::support::user::{CliUser, DevServer, stderr};

/// Sends a raw HTTP request to a local port.
fn raw_http_request(port: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("the port is open");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    response
}

/// Signs in with a real browser and confirms the sign-in for the CLI that listens on `port`.
fn confirm_in_browser(url: &str, port: &str) -> Value {
    let profile = tempfile::tempdir().expect("a folder");
    let until = format!("http://127.0.0.1:{port}/callback");
    let argument =
        json!({ "url": url, "login": "ada", "until": until, "profile": profile.path(), "confirm": true });
    NodeProcess::run(NodeScript::Browser, &argument)
}

#[test]
fn oidc_login_in_browser_signs_in_the_cli_without_exposing_tokens() {
    let listen = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
    let callback = format!("http://{listen}/api/v1/auth/oidc/callback");
    let provider = NodeProcess::start(NodeScript::Provider, &json!({ "redirectUris": [callback] }));
    let issuer = provider.output["issuer"].as_str().expect("an issuer");
    let secret = "known only to tests & to the server";
    let (server, admin, ada) =
        (DevServer::with_oidc(&listen.to_string(), issuer, secret), CliUser::new(), CliUser::new());
    admin.login(&server);
    admin.json(&["tenants", "create", "acme"]);
    let created = admin.json(&["invitations", "create", "--role", "developer", "--tenant", "acme"]);

    let mut login = ada.command(&["login", "--url", &server.url, "--oidc", "--invited", "--json"]);
    let invitation = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(invitation.path(), created["secret"].as_str().expect("a secret")).expect("written");
    login.stdin(Stdio::from(invitation.reopen().expect("open")));
    let mut login = ChildProcess::start(&mut login);
    let url = login.stderr_line_matching(|line| line.contains("cli=")).trim().to_owned();
    let shown = login.stderr_line_matching(|line| line.contains("shows this code"));
    let shown = shown.trim().rsplit(' ').next().expect("a code");
    let port = url.split("cli=").nth(1).and_then(|rest| rest.split('.').next()).expect("a port");
    let forged = raw_http_request(port, "GET /callback?code=ghh_x&challenge=guessed HTTP/1.1\r\n\r\n");
    assert!(forged.starts_with("HTTP/1.1 404"), "{forged}");

    let browser_result = confirm_in_browser(&url, port);
    assert_eq!(browser_result["code"], shown, "the page and the terminal show the same code");
    assert_eq!(
        browser_result["text"],
        "You are signed in. You can close this page and return to the terminal."
    );
    let signed_in: Value = serde_json::from_str(&login.read_line()).expect("JSON");
    assert_eq!(signed_in["context"], format!("oidc@{listen}"));
    assert_eq!(login.wait().code(), Some(0));
    let who = ada.json(&["whoami"]);
    assert_eq!(
        (&who["principal"], &who["tenants"][0]["role"]),
        (&signed_in["principal"], &json!("developer"))
    );

    let stored = std::fs::read_to_string(ada.config_path("tokens.json")).expect("tokens");
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    let tokens = stored.as_object().expect("tokens by context").values().next().expect("one login");
    for name in ["accessToken", "refreshToken"] {
        let token = tokens[name].as_str().expect("a token");
        assert!(!browser_result.to_string().contains(token), "the browser saw the {name}");
    }
    let code = browser_result["url"].as_str().expect("an address").split("code=").nth(1).expect("a code");
    let code = code.split('&').next().expect("a code");
    let body = json!({ "code": code, "verifier": "guessed" }).to_string();
    let replayed = raw_http_request(
        &listen.port().to_string(),
        &format!(
            "POST /api/v1/auth/handoff HTTP/1.1\r\nhost: {listen}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
    );
    assert!(replayed.starts_with("HTTP/1.1 403") && replayed.contains("sign-in-refused"), "{replayed}");
    ada.expire_tokens();
    assert_eq!(ada.json(&["whoami"]), who, "an OIDC login can be refreshed");
    ada.json(&["logout"]);
    assert_eq!(ada.run(&["whoami"]).status.code(), Some(5));
}

#[test]
fn oidc_login_with_a_name_is_a_usage_error() {
    for args in [&["login", "--oidc", "--name", "ada"][..], &["login", "--invited"]] {
        let output = CliUser::new().run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn oidc_login_without_a_provider_fails_before_it_prints_a_url() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    let login = user.run(&["login", "--url", &server.url, "--oidc", "--invited"]);
    assert_eq!(login.status.code(), Some(1));
    let url = format!("{}/", server.url);
    assert_eq!(
        stderr(&login),
        format!(
            "error: {url} has no identity provider, which --oidc needs\n  next: sign in with a password (`guildhall login \
             --url {url} --name NAME`), or ask the operator to set oidc.issuer\n"
        )
    );
}
