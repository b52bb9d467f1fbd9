//! Deletion of expired idempotency keys.

use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::ops::idempotency_keys::IdempotencyKeyCleanup;
use guildhall_testkit::TestDb;
use tokio_util::sync::CancellationToken;

use crate::store;

#[tokio::test]
async fn expired_keys_are_deleted_by_two_concurrent_replicas() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    sql.execute(
        "INSERT INTO principals (id, kind, name) VALUES ('00000000-0000-7000-8000-000000000001', 'person', 'ada');
         INSERT INTO idempotency_keys (principal, key, body_hash, made, created_at)
         SELECT '00000000-0000-7000-8000-000000000001', 'old-' || n, '', gen_random_uuid(), now() - interval '24 hours 1 minute'
         FROM generate_series(1, 2500) AS n;
         INSERT INTO idempotency_keys (principal, key, body_hash, made, created_at)
         SELECT '00000000-0000-7000-8000-000000000001', 'young-' || n, '', gen_random_uuid(), now() - interval '23 hours 59 minutes'
         FROM generate_series(1, 3) AS n",
    )
    .await;
    let replica = || IdempotencyKeyCleanup { store: store(db.url()), stop: CancellationToken::new() };
    let (first_replica, second_replica) = (replica(), replica());
    let (first, second) = tokio::join!(first_replica.round(), second_replica.round());
    first.expect("a round");
    second.expect("a round");
    let remaining = sql.texts("SELECT key FROM idempotency_keys ORDER BY key").await;
    assert_eq!(remaining, ["young-1", "young-2", "young-3"]);
}

#[tokio::test]
async fn cancelled_round_stops_after_the_current_batch() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    sql.execute(
        "INSERT INTO principals (id, kind, name) VALUES ('00000000-0000-7000-8000-000000000001', 'person', 'ada');
         INSERT INTO idempotency_keys (principal, key, body_hash, made, created_at)
         SELECT '00000000-0000-7000-8000-000000000001', 'old-' || n, '', gen_random_uuid(), now() - interval '2 days'
         FROM generate_series(1, 2500) AS n",
    )
    .await;
    let stop = CancellationToken::new();
    stop.cancel();
    IdempotencyKeyCleanup { store: store(db.url()), stop }.round().await.expect("a round");
    assert_eq!(sql.number("SELECT count(*) FROM idempotency_keys").await, 1500);
}
