use std::time::Duration;

use guildhall_domain::ids::ReplicaId;
use guildhall_store::replicas;
use guildhall_testkit::TestDb;
use jiff::Timestamp;

use crate::store;

#[tokio::test]
async fn replica_is_listed_from_first_heartbeat_until_deletion() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (id, started_at) = (ReplicaId::generate(), Timestamp::from_second(1_800_000_000).expect("in range"));
    replicas::heartbeat(&store, id, "1.2.3", started_at).await.expect("written");
    let first = replicas::list(&store, 10).await.expect("read").remove(0);
    assert_eq!((first.id, first.version.as_str(), first.started_at), (id, "1.2.3", started_at));

    replicas::heartbeat(&store, id, "1.2.3", started_at).await.expect("written again");
    let again = replicas::list(&store, 10).await.expect("read");
    assert_eq!(again.len(), 1);
    assert!(again[0].seen_at > first.seen_at);

    replicas::delete(&store, id).await.expect("left");
    assert_eq!(replicas::list(&store, 10).await.expect("read"), vec![]);
}

#[tokio::test]
async fn only_stale_replicas_are_deleted() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (silent, alive) = (ReplicaId::generate(), ReplicaId::generate());
    for id in [silent, alive] {
        replicas::heartbeat(&store, id, "1.0.0", Timestamp::UNIX_EPOCH).await.expect("written");
    }
    let age = format!(
        "UPDATE replicas SET seen_at = now() - interval '61 seconds' WHERE id = '{}'",
        silent.as_uuid()
    );
    db.sql().await.execute(age).await;
    assert_eq!(replicas::delete_stale(&store, Duration::from_secs(60)).await.expect("done"), 1);
    let left: Vec<_> =
        replicas::list(&store, 10).await.expect("read").into_iter().map(|replica| replica.id).collect();
    assert_eq!(left, vec![alive]);
}
