//! Heartbeat of this replica, and deletion of replicas that stopped sending theirs.

use std::time::Duration;

use guildhall_domain::ids::ReplicaId;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, replicas};
use jiff::Timestamp;
use tracing::info;

/// Heartbeats that a replica may miss before it is deleted.
const MAX_MISSED_HEARTBEATS: u32 = 4;

#[derive(Debug)]
pub struct ReplicaHeartbeat {
    pub store: Store,
    pub id: ReplicaId,
    pub version: String,
    pub started_at: Timestamp,
    pub every: Duration,
}

impl Reconciler for ReplicaHeartbeat {
    type Error = StoreError;
    const NAME: &'static str = "replicas";

    async fn round(&self) -> Result<(), StoreError> {
        replicas::heartbeat(&self.store, self.id, &self.version, self.started_at).await?;
        let deleted = replicas::delete_stale(&self.store, self.every * MAX_MISSED_HEARTBEATS).await?;
        if deleted > 0 {
            info!(deleted, "deleted {deleted} replicas without a heartbeat");
        }
        Ok(())
    }
}
