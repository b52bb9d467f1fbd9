//! Partitions of messages: created ahead for lifetimes of any length, and dropped when they are over.

use guildhall_runtime::Clock;
use guildhall_store::inbox_messages::{create_partitions, drop_partition, list_expired_partitions};
use guildhall_testkit::TestDb;
use jiff::SignedDuration;

use crate::store;

/// First days and lengths of the partitions, in order.
const PARTITIONS: &str = "
    SELECT right(name, 8) || ' ' || extract(day FROM bounds[2]::timestamptz - bounds[1]::timestamptz)
    FROM (
        SELECT
            child.relname::text AS name,
            regexp_match(pg_get_expr(child.relpartbound, child.oid), 'FROM \\(''(.+)''\\) TO \\(''(.+)''\\)') AS bounds
        FROM pg_inherits AS inherits
        INNER JOIN pg_class AS child ON child.oid = inherits.inhrelid
        WHERE inherits.inhparent = 'inbox_messages'::regclass
    ) AS part
    ORDER BY name";

/// Returns the first day of partitions of these lengths, the first of which has today.
fn consecutive(lengths: &[i64]) -> Vec<String> {
    let mut starts_at = Clock::system().now();
    let mut partitions = Vec::new();
    for length in lengths {
        partitions.push(format!("{} {length}", starts_at.strftime("%Y%m%d")));
        starts_at += SignedDuration::from_hours(24 * length);
    }
    partitions
}

#[tokio::test]
async fn partitions_follow_each_other_and_are_dropped_when_they_are_over() {
    let db = TestDb::new().await;
    let (store, mut sql) = (store(db.url()), db.sql().await);
    // A lifetime of a day, which the migration has prepared; then one of 30 days; then one of a day again.
    for (ahead, each) in [(4, 1), (34, 5), (5, 1)] {
        create_partitions(&store, ahead, each).await.expect("created");
    }
    let all = consecutive(&[1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5]);
    assert_eq!(sql.texts(PARTITIONS).await, all);
    let in_six_days = Clock::system().now() + SignedDuration::from_hours(6 * 24);
    let expired = list_expired_partitions(&store, in_six_days).await.expect("listed");
    assert_eq!(expired.len(), 5, "{expired:?}");
    for name in &expired {
        assert!(drop_partition(&store, name).await.expect("dropped"));
    }
    assert_eq!(sql.texts(PARTITIONS).await, all[5..]);
}
