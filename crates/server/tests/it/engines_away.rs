use std::time::{Duration, Instant};

use guildhall_testkit::{PrivateEngines, TestDb};

use crate::support::Setup;

const SOON: Duration = Duration::from_secs(5);

// covers: R2, R3, R13
#[tokio::test]
async fn without_postgres_every_answer_is_a_failure_in_time_and_readiness_returns_by_itself() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let (one, other) = Setup::on_private(&db, &engines.addresses()).start_two().await;
    engines.postgres.kill();
    for server in [&one, &other] {
        let (unready, _) = server.until("/health/readiness", SOON, |answer| answer.status == 503).await;
        assert_eq!(unready.body["reasons"][0], "PostgreSQL does not answer");
        assert_eq!((unready.status.as_u16(), &unready.body["failureKind"]), (503, &"not-ready".into()));
        assert_eq!(unready.body["traceId"].as_str().map(str::len), Some(32));
        assert_eq!(server.get("/health/live").await.status, 200);
        let began = Instant::now();
        let failed = server.get("/health").await;
        failed.assert_failure(503, "infra-failed");
        assert!(began.elapsed() < Duration::from_secs(10), "took {:?}, the limit is 10 s", began.elapsed());
    }
    engines.postgres.up().expect("recovered");
    for server in [&one, &other] {
        let (_, took) =
            server.until("/health/readiness", SOON, |answer| answer.body["status"] == "ready").await;
        assert!(took < SOON, "took {took:?}");
        assert_eq!(server.get("/health").await.status, 200);
    }
}

#[tokio::test]
async fn without_nats_the_server_serves_degraded_and_recovers_by_itself() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let server = Setup::on_private(&db, &engines.addresses()).start().await;
    assert_eq!(server.get("/health/readiness").await.body["status"], "ready");
    engines.nats.kill();
    let (degraded, _) = server.until("/health/readiness", SOON, |a| a.body["status"] == "degraded").await;
    assert_eq!(degraded.status, 200);
    assert_eq!(degraded.body["reasons"][0], "NATS does not answer: updates arrive late, none is lost");
    assert_eq!(server.get("/health").await.status, 200);
    engines.nats.up().expect("started");
    server.until("/health/readiness", SOON, |a| a.body["status"] == "ready").await;
}

#[tokio::test]
async fn a_server_starts_without_nats_and_finds_it_later() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    engines.nats.kill();
    let server = Setup::on_private(&db, &engines.addresses()).start().await;
    assert_eq!(server.get("/health/readiness").await.body["status"], "degraded");
    engines.nats.up().expect("started");
    server.until("/health/readiness", SOON, |a| a.body["status"] == "ready").await;
}

// covers: R2
#[tokio::test]
async fn a_server_without_postgres_does_not_start() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    engines.postgres.kill();
    let began = Instant::now();
    let error = Setup::on_private(&db, &engines.addresses()).try_start().await.expect_err("no PostgreSQL");
    assert!(began.elapsed() < Duration::from_secs(10), "took {:?}", began.elapsed());
    let mut words = format!("{error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        words = format!("{words}; {inner}");
        cause = inner.source();
    }
    assert!(words.contains("PostgreSQL does not answer"), "{words}");
}
