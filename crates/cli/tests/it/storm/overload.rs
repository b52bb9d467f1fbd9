//! More requests than the servers can process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;

use super::Storm;
use super::injector::kill_postgres;

/// Clients that send without a pause.
const CLIENTS: usize = 100;

/// Longer than a request waits for a connection.
const LOCK_TIME: Duration = Duration::from_secs(5);

/// Locks a table that every append needs: all connections of the pools wait for it, and other requests get none.
pub(super) async fn exhaust_pools(storm: &Arc<Storm>) {
    let mut sql = storm.db.sql().await;
    sql.execute("BEGIN; SET LOCAL lock_timeout = '20s'; LOCK TABLE journal_heads IN ACCESS EXCLUSIVE MODE")
        .await;
    let refused = send_during(storm, tokio::time::sleep(LOCK_TIME)).await;
    sql.execute("COMMIT").await;
    assert!(refused > 0, "no request was refused while all connections were in use");
}

/// Takes PostgreSQL away while clients retry without a pause.
pub(super) async fn retry_storm(storm: &Arc<Storm>) {
    let refused = send_during(storm, kill_postgres(storm, storm.size.outage)).await;
    assert!(refused > 0, "no request was refused without PostgreSQL");
}

/// Sends writes from many clients until the future is done. Returns how many were answered with 503 and `Retry-After`.
async fn send_during(storm: &Arc<Storm>, until: impl Future<Output = ()>) -> u64 {
    let (is_done, before) = (Arc::new(AtomicBool::new(false)), storm.api.overloaded.load(Ordering::SeqCst));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (storm, is_done) = (Arc::clone(storm), Arc::clone(&is_done));
            guildhall_testkit::spawn_task(async move {
                while !is_done.load(Ordering::SeqCst) {
                    storm.probe_write(client).await;
                    let path = "/api/v1/whoami";
                    let bearer = &storm.tenants[client % storm.tenants.len()].bearer;
                    let read = storm.api.request(client, Method::GET, path, bearer);
                    storm.api.try_send(read).await;
                }
            })
        })
        .collect();
    until.await;
    is_done.store(true, Ordering::SeqCst);
    join_all(clients).await.into_iter().for_each(|client| client.expect("the client does not panic"));
    storm.api.overloaded.load(Ordering::SeqCst) - before
}
