//! `guildhall aid login`, `logins`, `use` and `logout`, against the issuer of `guildhall dev`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::aid_user::AidUser;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

fn operator(server: &DevServer) -> CliUser {
    let user = CliUser::new();
    user.login(server);
    user
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// Returns the AID that the socket says is connected.
fn connected_aid(user: &CliUser) -> Value {
    user.json(&["rpc", "meta.status"])["aid"].clone()
}

#[test]
fn aid_login_stores_tokens_that_later_commands_use() {
    let server = DevServer::ephemeral();
    let alice = AidUser::create(&operator(&server), "alice");
    let user = &alice.user;
    let early = user.run(&["rpc", "meta.status"]);
    assert_eq!(early.status.code(), Some(5));
    assert_eq!(stderr(&early), "error: no AID is logged in\n  next: `guildhall aid login` logs an AID in\n");

    let no_server = user.run(&["aid", "login", &alice.aid]);
    assert_eq!(
        (no_server.status.code(), stdout(&no_server)),
        (Some(2), String::new()),
        "{}",
        stderr(&no_server)
    );
    let output = user.run(&["aid", "login", &alice.aid, "--server", &server.url]);
    let expected = format!("logged in to {} as {}; it is the current AID\n", server.url, alice.aid);
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
    let device_file = format!("devices/{}/device.json", alice.aid);
    assert_eq!(["aids.json", &device_file].map(|file| mode(&user.config_path(file))), [0o600, 0o600]);
    assert_eq!(connected_aid(user), json!(alice.aid));

    let device = || alice.stored_login()["device"].clone();
    let first_device = device();
    let row = json!({ "aid": alice.aid, "url": server.url, "keyFile": alice.key_file(), "current": true });
    assert_eq!(user.json(&["aid", "logins"]), json!({ "logins": [row] }));
    let logged_out = user.run(&["aid", "logout"]);
    assert!(
        stdout(&logged_out).starts_with(&format!("logged out {}: ", alice.aid)),
        "{}",
        stderr(&logged_out)
    );
    let stored = std::fs::read_to_string(user.config_path("aids.json")).expect("a file");
    assert_eq!(
        serde_json::from_str::<Value>(&stored).expect("JSON"),
        json!({ "current": null, "logins": {} })
    );
    assert_eq!(user.run(&["rpc", "meta.status"]).status.code(), Some(5));
    let again = user.run(&["aid", "logout", &alice.aid]);
    assert_eq!(again.status.code(), Some(5));
    assert!(
        stderr(&again).starts_with(&format!("error: {} is not logged in\n", alice.aid)),
        "{}",
        stderr(&again)
    );
    assert!(alice.key_file().is_file(), "the key is the user's");
    alice.log_in(&server.url);
    assert_eq!(device(), first_device, "the device stays the same");
}

#[test]
fn expired_tokens_are_refreshed_and_an_ended_login_is_repeated() {
    let server = DevServer::ephemeral();
    let alice = AidUser::create(&operator(&server), "alice");
    alice.log_in(&server.url);
    let expire =
        || alice.change_login(|login| login["tokens"]["accessExpiresAt"] = json!("2020-01-01T00:00:00Z"));
    let first = alice.stored_login()["tokens"].clone();
    expire();
    // A refresh token can be used once, so that two processes must not use the same one.
    let children: Vec<_> = (0..3)
        .map(|_| {
            let mut command = alice.user.command(&["rpc", "meta.status"]);
            command.stdout(Stdio::null()).spawn().expect("the command starts")
        })
        .collect();
    for child in children {
        assert!(child.wait_with_output().expect("it ends").status.success());
    }
    let second = alice.stored_login()["tokens"].clone();
    assert_ne!(second["refreshToken"], first["refreshToken"]);

    // With a token that was used already the login ends: the key opens another one.
    alice.change_login(|login| login["tokens"] = first);
    expire();
    assert_eq!(connected_aid(&alice.user), json!(alice.aid));
    std::fs::remove_file(alice.key_file()).expect("removed");
    assert_eq!(connected_aid(&alice.user), json!(alice.aid), "the key is not needed yet");
    expire();
    let no_key = alice.user.run(&["rpc", "meta.status"]);
    assert_eq!(no_key.status.code(), Some(1));
    assert!(stderr(&no_key).contains("cannot read the key in"), "{}", stderr(&no_key));
}

#[test]
fn login_refuses_files_that_do_not_belong_together() {
    let server = DevServer::ephemeral();
    let operator = operator(&server);
    let (alice, bobby) = (AidUser::create(&operator, "alice"), AidUser::create(&operator, "bobby"));
    let fails = |args: &[&str], expected: &str| {
        let args = [&["aid", "login"], args, &["--server", &server.url]].concat();
        let output = alice.user.run(&args);
        assert!(
            !output.status.success() && stderr(&output).contains(expected),
            "{args:?}: {}",
            stderr(&output)
        );
    };
    let (key, other_key) = (alice.key_file().display().to_string(), bobby.key_file().display().to_string());
    let certificate = key.replace(".key", ".crt");
    fails(&[&bobby.aid, "--key", &key], &format!("the certificate is not one of {}", bobby.aid));
    fails(
        &[&alice.aid, "--key", &other_key, "--certificate", &certificate],
        "is not the one of the certificate",
    );
    fails(&[&bobby.aid], "cannot read the certificate in");
    fails(
        &[&alice.aid, "--key", "/nonexistent", "--certificate", &certificate],
        "cannot read the key in /nonexistent",
    );
    fails(
        &[&alice.aid, "--root-fingerprint", &"0".repeat(64)],
        "the root does not have the expected fingerprint",
    );
    std::fs::set_permissions(alice.key_file(), Permissions::from_mode(0o644)).expect("set");
    fails(&[&alice.aid], "other users of this machine can read the key in");
    assert!(!alice.user.config_path("aids.json").exists(), "nothing is stored");

    let plain = alice.user.run(&["aid", "login", &alice.aid, "--server", "http://guild.example"]);
    assert!(stderr(&plain).contains("somebody in between could log in as this AID"), "{}", stderr(&plain));
}

#[test]
fn revoked_aid_is_logged_out() {
    let server = DevServer::ephemeral();
    let operator = operator(&server);
    let alice = AidUser::create(&operator, "alice");
    alice.log_in(&server.url);
    operator.json(&["aid", "revoke", &alice.aid]);
    let output = alice.user.run(&["rpc", "meta.status", "--json"]);
    let error: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_eq!((output.status.code(), &error["exitCode"]), (Some(5), &json!(5)), "{error}");
    let login = alice.user.run(&["aid", "login", &alice.aid]);
    assert_eq!(login.status.code(), Some(5), "{}", stderr(&login));
}

#[test]
fn login_verifies_the_server_below_a_pinned_root() {
    let server = DevServer::ephemeral();
    let alice = AidUser::create(&operator(&server), "alice");
    let root = server.state.join("secrets/aun/root.crt");
    let openssl = std::process::Command::new("openssl")
        .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
        .arg(&root)
        .output()
        .expect("openssl");
    let text = stdout(&openssl);
    let fingerprint = text.trim().split_once('=').expect("a fingerprint").1;
    let args = ["aid", "login", &alice.aid, "--server", &server.url, "--root-fingerprint", fingerprint];
    let output = alice.user.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(alice.stored_login()["root"]["certificate"].as_str().expect("PEM").contains("BEGIN CERTIFICATE"));
    // The next login verifies the server too.
    alice.change_login(|login| login["root"]["fingerprint"] = json!("0".repeat(64)));
    let output = alice.user.run(&["aid", "login", &alice.aid]);
    assert!(stderr(&output).contains("fingerprint"), "{}", stderr(&output));
}

#[test]
fn current_aid_is_the_last_one_unless_another_is_selected() {
    let server = DevServer::ephemeral();
    let operator = operator(&server);
    let (alice, bobby) = (AidUser::create(&operator, "alice"), AidUser::create(&operator, "bobby"));
    let user = &alice.user;
    alice.log_in(&server.url);
    let key = bobby.key_file().display().to_string();
    let output = user.run(&["aid", "login", &bobby.aid, "--key", &key, "--server", &server.url]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(connected_aid(user), json!(bobby.aid));
    assert_eq!(user.json(&["rpc", "meta.status", "--as", &alice.aid])["aid"], json!(alice.aid));
    assert!(user.run(&["aid", "use", &alice.aid]).status.success());
    assert_eq!(connected_aid(user), json!(alice.aid));
    assert!(user.run(&["aid", "logout"]).status.success());
    assert_eq!(connected_aid(user), json!(bobby.aid), "the only one that is left");
}
