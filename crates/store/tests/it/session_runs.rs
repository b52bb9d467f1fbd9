//! Runs that begin in a session.

use std::time::Duration;

use guildhall_domain::ids::{RunId, SessionId};
use guildhall_store::sessions;
use guildhall_testkit::TestDb;

use crate::store_with_timeout;

/// A session with an open run. Foreign keys are not checked.
const INSERT_SESSION: &str = "SET session_replication_role = replica;
    INSERT INTO sessions (id, tenant, project, backend_profile, created_by, runs, active_run)
    VALUES (gen_random_uuid(), gen_random_uuid(), 'p', 'codex', gen_random_uuid(), 1, gen_random_uuid())";

#[tokio::test]
async fn run_begins_in_a_session_without_an_open_one_only() {
    let db = TestDb::new().await;
    let store = store_with_timeout(db.url(), Duration::from_secs(10));
    let mut sql = db.sql().await;
    sql.execute(INSERT_SESSION).await;
    let session: SessionId =
        SessionId::from_uuid(sql.texts("SELECT id::text FROM sessions").await[0].parse().expect("an id"));
    let mut began = Vec::new();
    for change in [
        "runs = runs",
        "active_run = NULL",
        "active_run = NULL, storage_kind = 'evicted', storage_evicted_at = now()",
    ] {
        sql.execute(format!("UPDATE sessions SET {change}")).await;
        let mut tx = store.begin().await.expect("a transaction");
        let ordinal = sessions::begin_run(&mut tx, session, RunId::generate()).await.expect("read");
        let is_evicted = sessions::is_evicted(&mut tx, session).await.expect("read");
        tx.commit().await.expect("committed");
        began.push((ordinal, is_evicted));
    }
    assert_eq!(began, [(None, false), (Some(2), false), (None, true)]);
}
