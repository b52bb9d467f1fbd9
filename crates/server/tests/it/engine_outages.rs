use std::time::Duration;

use guildhall_testkit::{PrivateEngines, Stopwatch, TestDb};

use crate::support::Setup;

const TIMEOUT: Duration = Duration::from_secs(5);

// covers: R2, R3, R12, R13
#[tokio::test]
async fn requests_fail_fast_without_postgres_and_readiness_recovers() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let (one, other) = Setup::with_private_engines(&db, &engines.urls()).start_two().await;
    engines.postgres.kill();
    for server in [&one, &other] {
        let (unready, _) =
            server.wait_until("/health/readiness", TIMEOUT, |response| response.status == 503).await;
        assert_eq!(unready.body["reasons"][0], "PostgreSQL does not respond");
        assert_eq!(unready.body["postgres"]["reachable"], false, "{}", unready.text);
        assert_eq!((unready.status.as_u16(), &unready.body["failureKind"]), (503, &"not-ready".into()));
        assert_eq!(unready.body["traceId"].as_str().map(str::len), Some(32));
        assert_eq!(server.get("/health/live").await.status, 200);
        let began = Stopwatch::start();
        let failed = server.get("/health").await;
        failed.assert_failure(503, "infra-failed");
        assert!(began.elapsed() < Duration::from_secs(10), "took {:?}, the maximum is 10 s", began.elapsed());
    }
    engines.postgres.restart().expect("a running PostgreSQL");
    for server in [&one, &other] {
        let (_, took) = server
            .wait_until("/health/readiness", TIMEOUT, |response| response.body["status"] == "ready")
            .await;
        assert!(took < TIMEOUT, "took {took:?}");
        assert_eq!(server.get("/health").await.status, 200);
    }
}

#[tokio::test]
async fn server_is_degraded_without_nats_and_recovers() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let server = Setup::with_private_engines(&db, &engines.urls()).start().await;
    assert_eq!(server.get("/health/readiness").await.body["status"], "ready");
    engines.nats.kill();
    let (degraded, _) =
        server.wait_until("/health/readiness", TIMEOUT, |a| a.body["status"] == "degraded").await;
    assert_eq!(degraded.status, 200);
    assert_eq!(degraded.body["reasons"][0], "NATS does not respond: updates arrive late, none is lost");
    assert_eq!(server.get("/health").await.status, 200);
    engines.nats.restart().expect("a running NATS");
    server.wait_until("/health/readiness", TIMEOUT, |a| a.body["status"] == "ready").await;
}

#[tokio::test]
async fn server_starts_without_nats_and_connects_later() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    engines.nats.kill();
    let server = Setup::with_private_engines(&db, &engines.urls()).start().await;
    assert_eq!(server.get("/health/readiness").await.body["status"], "degraded");
    engines.nats.restart().expect("a running NATS");
    server.wait_until("/health/readiness", TIMEOUT, |a| a.body["status"] == "ready").await;
}

// covers: R2
#[tokio::test]
async fn server_does_not_start_without_postgres() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    engines.postgres.kill();
    let began = Stopwatch::start();
    let error =
        Setup::with_private_engines(&db, &engines.urls()).try_start().await.expect_err("no PostgreSQL");
    assert!(began.elapsed() < Duration::from_secs(10), "took {:?}", began.elapsed());
    let mut message = format!("{error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        message = format!("{message}; {inner}");
        cause = inner.source();
    }
    assert!(message.contains("PostgreSQL does not respond"), "{message}");
}
