use std::process::Stdio;

use crate::support::guildhall;

fn stderr_of_failed(command: &mut std::process::Command) -> String {
    let output = command.output().expect("the command runs");
    assert!(!output.status.success(), "the command succeeded");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn mistyped_config_key_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("guildhall.toml"), "[http]\nlisten_on = \"127.0.0.1:0\"\nlistn = 1\n")
        .expect("written");
    let message = stderr_of_failed(guildhall().args(["config", "check"]).current_dir(folder.path()));
    assert!(
        message.contains("unknown key `http.list") && message.contains("guildhall config example"),
        "{message}"
    );
}

#[test]
fn password_in_arguments_is_rejected_and_not_printed() {
    let message =
        stderr_of_failed(guildhall().args(["serve", "--pg-url", "postgres://me:hunter2@127.0.0.1/db"]));
    assert!(message.contains("GUILDHALL_POSTGRES_URL"), "{message}");
    assert_eq!(message.matches("hunter2").count(), 0, "{message}");
}

#[test]
fn missing_postgres_error_says_how_to_install_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = guildhall();
    let message =
        stderr_of_failed(command.args(["dev", "--ephemeral"]).env("GUILDHALL_ENGINE_PG_BIN", folder.path()));
    let install = guildhall_engines::Package::Postgres.install_command();
    for hint in [&*install, "GUILDHALL_ENGINE_PG_BIN", "--pg-url"] {
        assert!(message.contains(hint), "{message}");
    }
}

#[test]
fn root_certificates_are_needed_only_for_https() {
    let message_for = |url: &str| {
        let mut command = guildhall();
        command.args(["login", "--url", url, "--name", "ada", "--password-stdin"]).stdin(Stdio::null());
        stderr_of_failed(command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/nonexistent"))
    };
    // The client is set up before the password is read.
    assert_eq!(message_for("http://127.0.0.1:1"), "error: no password on standard input\n");
    let message = message_for("https://127.0.0.1:1");
    assert!(message.contains("install the package ca-certificates"), "{message}");
}

#[test]
fn top_level_help_matches_snapshot() {
    let output = guildhall().arg("--help").output().expect("the command runs");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
}
