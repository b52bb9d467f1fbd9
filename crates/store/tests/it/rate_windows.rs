//! Borrowing permits of a rate window.

use std::time::{Duration, Instant};

use guildhall_domain::ids::PrincipalId;
use guildhall_domain::ops::rate::{Rate, RateKey, Tier};
use guildhall_store::rate_windows;
use guildhall_testkit::{Stopwatch, TestDb};

use crate::{store, store_with_timeout};

fn rate(text: &str) -> Rate {
    text.parse().expect(text)
}

#[tokio::test]
async fn block_has_the_requested_size_up_to_what_is_left() {
    let db = TestDb::new().await;
    let (store, rate) = (store(db.url()), rate("10/24h"));
    let key = RateKey::Principal(PrincipalId::generate());
    let mut seen = Vec::new();
    for requested in [4, 4, 4, 1] {
        let granted =
            rate_windows::borrow(&store, Tier::Read, key, rate, requested).await.expect("an answer");
        assert!(
            granted.valid_until > Instant::now() && granted.valid_until <= Instant::now() + rate.window()
        );
        seen.push((granted.permits, granted.handed_out));
    }
    assert_eq!(seen, [(4, 4), (4, 8), (2, 10), (0, 10)]);
}

#[tokio::test]
async fn first_block_is_capped_at_the_limit() {
    let db = TestDb::new().await;
    let key = RateKey::Principal(PrincipalId::generate());
    let granted =
        rate_windows::borrow(&store(db.url()), Tier::Read, key, rate("3/24h"), 256).await.expect("answered");
    assert_eq!((granted.permits, granted.handed_out), (3, 3));
}

#[tokio::test]
async fn callers_tiers_and_window_lengths_have_separate_counts() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (one, other) =
        (RateKey::Principal(PrincipalId::generate()), RateKey::from_address([192, 0, 2, 7].into()));
    for (tier, key, rate) in [
        (Tier::Read, one, rate("1/24h")),
        (Tier::Mutation, one, rate("1/24h")),
        (Tier::Read, other, rate("1/24h")),
        (Tier::Read, one, rate("1/12h")),
    ] {
        for permits in [1, 0] {
            let granted = rate_windows::borrow(&store, tier, key, rate, 1).await.expect("an answer");
            assert_eq!(granted.permits, permits, "{tier} {key} {rate}");
        }
    }
}

#[tokio::test]
async fn lowered_limit_applies_immediately() {
    let db = TestDb::new().await;
    let (store, key) = (store(db.url()), RateKey::Principal(PrincipalId::generate()));
    rate_windows::borrow(&store, Tier::Read, key, rate("30/24h"), 20).await.expect("an answer");
    let granted = rate_windows::borrow(&store, Tier::Read, key, rate("10/24h"), 1).await.expect("an answer");
    assert_eq!((granted.permits, granted.handed_out), (0, 10));
}

/// The limit is not a multiple of the block size: together the borrowers get all of it and no more.
#[tokio::test]
async fn concurrent_borrowers_share_exactly_the_limit() {
    let db = TestDb::new().await;
    let timeout = Duration::from_secs(20);
    let (one, other) = (store_with_timeout(db.url(), timeout), store_with_timeout(db.url(), timeout));
    let key = RateKey::Principal(PrincipalId::generate());
    let racing = (0..60).map(|number| {
        let store = if number % 2 == 0 { &one } else { &other };
        rate_windows::borrow(store, Tier::Read, key, rate("100/24h"), 7)
    });
    let blocks = futures::future::join_all(racing).await;
    let sum: u32 = blocks.into_iter().map(|granted| granted.expect("an answer").permits).sum();
    assert_eq!(sum, 100);
}

#[tokio::test]
async fn only_ended_windows_are_deleted_up_to_the_batch_size() {
    let db = TestDb::new().await;
    let store = store(db.url());
    for _ in 0..5 {
        let key = RateKey::Principal(PrincipalId::generate());
        rate_windows::borrow(&store, Tier::Read, key, rate("1/24h"), 1).await.expect("an answer");
    }
    let mut sql = db.sql().await;
    let age =
        "UPDATE rate_windows SET starts_at = now() - interval '2 hours', ends_at = now() - interval '1 hour'
        WHERE key IN (SELECT key FROM rate_windows LIMIT 3)";
    sql.execute(age).await;
    for deleted in [2, 1, 0] {
        assert_eq!(rate_windows::delete_ended(&store, 2).await.expect("done"), deleted);
    }
    assert_eq!(sql.number("SELECT count(*) FROM rate_windows").await, 2, "open windows are kept");
}

#[tokio::test]
async fn borrow_fails_when_postgres_times_out() {
    let db = TestDb::new().await;
    let (store, key) = (store(db.url()), RateKey::Principal(PrincipalId::generate()));
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE").await;
    let began = Stopwatch::start();
    let error = rate_windows::borrow(&store, Tier::Read, key, rate("1/24h"), 1).await.expect_err("locked");
    assert!(matches!(error, guildhall_store::StoreError::Unavailable(_)), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
}
