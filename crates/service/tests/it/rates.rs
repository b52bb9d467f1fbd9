//! Borrowing and spending rate-limit permits.

use std::time::Duration;

use futures::future::join_all;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::PrincipalId;
use guildhall_domain::ops::rate::{RateKey, Tier};
use guildhall_service::ServiceError;
use guildhall_service::ops::rates::{RatePolicy, Rates};
use guildhall_store::{Store, StoreOptions};
use guildhall_testkit::{PrivateEngines, Stopwatch, TestDb};

const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);

fn replica(db: &TestDb, read: &str) -> Rates {
    let options = StoreOptions {
        url: db.url(),
        max_connections: 4,
        acquire_timeout: ACQUIRE_TIMEOUT,
        statement_timeout: ACQUIRE_TIMEOUT,
    };
    let store = Store::new(&options).expect("a valid address");
    Rates::new(store, RatePolicy { read: read.parse().ok(), ..RatePolicy::default() })
}

fn new_caller() -> RateKey {
    RateKey::Principal(PrincipalId::generate())
}

fn failure_kind(error: &ServiceError) -> FailureKind {
    error.failure().kind
}

#[tokio::test]
async fn borrowed_permits_are_spent_without_the_database() {
    let db = TestDb::new().await;
    let (rates, key) = (replica(&db, "1600/24h"), new_caller());
    rates.count(Tier::Read, key).await.expect("the first permit of a block of 100");
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE").await;
    for number in 1..100 {
        let status = rates.count(Tier::Read, key).await.expect("a borrowed permit").expect("limited");
        assert_eq!(status.remaining, 1599 - number);
    }
    let error = rates.count(Tier::Read, key).await.expect_err("no permit is left in the block");
    assert_eq!(failure_kind(&error), FailureKind::InfraFailed);
    lock.execute("COMMIT").await;
    assert_eq!(db.sql().await.number("SELECT sum(handed_out) FROM rate_windows").await, 100);
}

/// Concurrent requests of one caller must not each borrow a block: no permits would be left for the other replicas.
#[tokio::test]
async fn concurrent_requests_borrow_one_block() {
    let db = TestDb::new().await;
    let (rates, key) = (replica(&db, "1600/24h"), new_caller());
    for result in join_all((0..60).map(|_| rates.count(Tier::Read, key))).await {
        result.expect("a permit");
    }
    assert_eq!(db.sql().await.number("SELECT sum(handed_out) FROM rate_windows").await, 100);
}

/// A flood of requests must not reach the database.
#[tokio::test]
async fn exhausted_window_is_rejected_without_the_database() {
    let db = TestDb::new().await;
    let (rates, key) = (replica(&db, "1/24h"), new_caller());
    rates.count(Tier::Read, key).await.expect("the only permit");
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE").await;
    for _ in 0..1000 {
        let error = rates.count(Tier::Read, key).await.expect_err("no permit is left");
        assert_eq!(failure_kind(&error), FailureKind::RateLimited);
    }
}

#[tokio::test]
async fn tier_without_a_rate_is_not_counted() {
    let db = TestDb::new().await;
    let rates = replica(&db, "1/24h");
    for _ in 0..3 {
        assert_eq!(rates.count(Tier::Mutation, new_caller()).await.expect("not limited"), None);
    }
    assert_eq!(db.sql().await.number("SELECT count(*) FROM rate_windows").await, 0);
}

/// Concurrent requests share one borrow attempt and its error, instead of waiting one after another.
#[tokio::test]
async fn concurrent_requests_without_postgres_fail_without_queueing() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let (rates, key) = (replica(&db, "1/24h"), new_caller());
    engines.postgres.kill();
    let started = Stopwatch::start();
    for result in join_all((0..10).map(|_| rates.count(Tier::Read, key))).await {
        assert_eq!(failure_kind(&result.expect_err("PostgreSQL is down")), FailureKind::InfraFailed);
    }
    assert!(started.elapsed() < ACQUIRE_TIMEOUT * 3, "took {:?}", started.elapsed());
    engines.postgres.restart().expect("recovered");
    rates.count(Tier::Read, key).await.expect("a failed borrow takes no permit");
}
