//! `guildhall config check` and `guildhall serve` refuse the same configurations.

use std::process::Output;

use crate::support::guildhall;
use crate::support::user::{stderr, stdout};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Runs a command in a folder with a valid configuration and these changes. No engine listens on its URLs.
fn run(args: &[&str], folder: &std::path::Path, changes: &[(&str, &str)]) -> Output {
    let mut command = guildhall();
    command.args(args).current_dir(folder);
    command.env("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0").env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", KEY);
    command.env("GUILDHALL_POSTGRES_URL", "postgres://me@127.0.0.1:1/db");
    command.env("GUILDHALL_NATS_URL", "nats://127.0.0.1:1");
    command.envs(changes.iter().copied()).output().expect("the command runs")
}

const REFUSED: &[&[(&str, &str)]] = &[
    &[("GUILDHALL_HTTP_LISTEN", "203.0.113.1:0")],
    &[("GUILDHALL_HTTP_PUBLIC_URL", "http://guildhall.example.org")],
    &[("GUILDHALL_POSTGRES_URL", "nonsense")],
    &[("GUILDHALL_POSTGRES_OWNER_URL", "nonsense")],
    &[("GUILDHALL_NATS_URL", "nonsense")],
    &[("GUILDHALL_NATS_SUBJECT_PREFIX", "a b")],
    &[("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "")],
    &[("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "abc")],
    &[("GUILDHALL_AUDIT_SIGNING_KEY_FILE", "missing.key")],
    &[("GUILDHALL_AUDIT_ANCHOR_FILE", "anchors.jsonl")],
    &[("GUILDHALL_RUNS_PROJECTS", "a*b")],
    &[("GUILDHALL_RUNS_TURN_TIMEOUT", "0s")],
    &[("GUILDHALL_EGRESS_ALLOW", "everything")],
    &[("GUILDHALL_OIDC_ISSUER", "http://accounts.example.org"), ("GUILDHALL_OIDC_CLIENT_ID", "guildhall")],
    &[("GUILDHALL_OIDC_ISSUER", "https://accounts.example.org")],
    &[("GUILDHALL_SECRETS_FOLDER", "file/secrets")],
    &[("GUILDHALL_LAUNCHER_KIND", "local"), ("GUILDHALL_LAUNCHER_RUNNER", "missing-runner")],
    &[("GUILDHALL_LAUNCHER_KIND", "local"), ("GUILDHALL_LAUNCHER_STATE", "file/launcher")],
    &[("GUILDHALL_PROFILES_TEMPLATES", "missing")],
    &[("GUILDHALL_TELEMETRY_LOG_FILTER", "=loud=")],
    &[("GUILDHALL_TELEMETRY_OTLP_ENDPOINT", "not a url")],
    &[("GUILDHALL_HTTP_REQUEST_TIMEOUT", "soon")],
];

#[test]
fn config_check_refuses_what_serve_refuses_before_it_connects() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "").expect("written");
    for changes in REFUSED {
        let checked = run(&["config", "check"], folder.path(), changes);
        let served = run(&["serve"], folder.path(), changes);
        assert_eq!(
            (checked.status.code(), stderr(&checked)),
            (served.status.code(), stderr(&served)),
            "{changes:?}"
        );
        assert_eq!(checked.status.code(), Some(1), "{changes:?}: {}", stdout(&checked));
        assert!(
            !stderr(&served).contains("refused"),
            "{changes:?}: it tried to connect: {}",
            stderr(&served)
        );
    }
}

#[test]
fn config_check_of_a_valid_configuration_creates_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("audit.key");
    std::fs::write(&key, KEY).expect("written");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("set");
    let changes = [
        ("GUILDHALL_AUDIT_SIGNING_KEY_FILE", "audit.key"),
        ("GUILDHALL_AUDIT_ANCHOR_FILE", "anchors.jsonl"),
        ("GUILDHALL_SECRETS_FOLDER", "secrets"),
        ("GUILDHALL_LAUNCHER_KIND", "local"),
        ("GUILDHALL_LAUNCHER_RUNNER", "/bin/true"),
        ("GUILDHALL_LAUNCHER_STATE", "launcher"),
    ];
    let checked = run(&["config", "check"], folder.path(), &changes);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "only the key");
}
