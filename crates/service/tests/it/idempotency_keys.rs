//! Forgetting idempotency keys.

use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::ops::idempotency_keys::IdempotencyKeys;
use guildhall_testkit::TestDb;
use tokio_util::sync::CancellationToken;

use crate::store;

#[tokio::test]
async fn keys_past_their_window_are_forgotten_on_two_replicas_at_once_and_the_others_stay() {
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
    let replica = || IdempotencyKeys { store: store(db.url()), stop: CancellationToken::new() };
    let (one, other) = (replica(), replica());
    let (first, second) = tokio::join!(one.round(), other.round());
    first.expect("a round");
    second.expect("a round");
    let left = sql.texts("SELECT key FROM idempotency_keys ORDER BY key").await;
    assert_eq!(left, ["young-1", "young-2", "young-3"]);
}

#[tokio::test]
async fn a_round_that_is_told_to_stop_ends_after_the_batch_it_is_at() {
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
    IdempotencyKeys { store: store(db.url()), stop }.round().await.expect("a round");
    assert_eq!(sql.number("SELECT count(*) FROM idempotency_keys").await, 1500);
}
