//! Borrowing and spending permits.

use std::time::{Duration, Instant};

use futures::future::join_all;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::PrincipalId;
use guildhall_domain::ops::rate::{Key, Tier};
use guildhall_service::ServiceError;
use guildhall_service::ops::rates::{Policy, Rates};
use guildhall_store::{Store, StoreOptions};
use guildhall_testkit::{PrivateEngines, TestDb};

const ACQUIRE_WITHIN: Duration = Duration::from_secs(2);

fn replica(db: &TestDb, read: &str) -> Rates {
    let options = StoreOptions {
        url: db.url(),
        max_connections: 4,
        acquire_timeout: ACQUIRE_WITHIN,
        statement_timeout: ACQUIRE_WITHIN,
    };
    let store = Store::new(&options).expect("a valid address");
    Rates::new(store, Policy { read: read.parse().ok(), ..Policy::default() })
}

fn somebody() -> Key {
    Key::Principal(PrincipalId::generate())
}

fn kind(error: &ServiceError) -> FailureKind {
    error.failure().kind
}

#[tokio::test]
async fn a_block_is_spent_from_memory_and_asks_nobody() {
    let db = TestDb::new().await;
    let (rates, key) = (replica(&db, "1600/24h"), somebody());
    rates.count(Tier::Read, key).await.expect("the first of a block of a hundred");
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE").await;
    for number in 1..100 {
        let standing = rates.count(Tier::Read, key).await.expect("held").expect("limited");
        assert_eq!(standing.remaining, 1599 - number);
    }
    let error = rates.count(Tier::Read, key).await.expect_err("the block is spent");
    assert_eq!(kind(&error), FailureKind::InfraFailed);
    lock.execute("COMMIT").await;
    assert_eq!(db.sql().await.number("SELECT sum(handed_out) FROM rate_windows").await, 100);
}

/// Many requests of one caller at once must not each borrow a block: the other replicas would find nothing left.
#[tokio::test]
async fn requests_that_come_at_once_borrow_once() {
    let db = TestDb::new().await;
    let (rates, key) = (replica(&db, "1600/24h"), somebody());
    for counted in join_all((0..60).map(|_| rates.count(Tier::Read, key))).await {
        counted.expect("a permit");
    }
    assert_eq!(db.sql().await.number("SELECT sum(handed_out) FROM rate_windows").await, 100);
}

/// Whoever floods a server costs its replica memory reads, not the store.
#[tokio::test]
async fn a_full_window_is_refused_from_memory() {
    let db = TestDb::new().await;
    let (rates, key) = (replica(&db, "1/24h"), somebody());
    rates.count(Tier::Read, key).await.expect("the only one");
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE").await;
    for _ in 0..1000 {
        let error = rates.count(Tier::Read, key).await.expect_err("used up");
        assert_eq!(kind(&error), FailureKind::RateLimited);
    }
}

#[tokio::test]
async fn a_tier_without_a_rate_is_not_counted() {
    let db = TestDb::new().await;
    let rates = replica(&db, "1/24h");
    for _ in 0..3 {
        assert_eq!(rates.count(Tier::Mutation, somebody()).await.expect("not limited"), None);
    }
    assert_eq!(db.sql().await.number("SELECT count(*) FROM rate_windows").await, 0);
}

/// They wait for one who tries, and share what came of it: not each of them for as long again.
#[tokio::test]
async fn without_postgres_all_are_refused_and_none_waits_for_the_others() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let (rates, key) = (replica(&db, "1/24h"), somebody());
    engines.postgres.kill();
    let began = Instant::now();
    for counted in join_all((0..10).map(|_| rates.count(Tier::Read, key))).await {
        assert_eq!(kind(&counted.expect_err("nobody counts")), FailureKind::InfraFailed);
    }
    assert!(began.elapsed() < ACQUIRE_WITHIN * 3, "took {:?}", began.elapsed());
    engines.postgres.up().expect("recovered");
    rates.count(Tier::Read, key).await.expect("what failed took no permit");
}
