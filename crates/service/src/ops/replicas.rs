//! Keeps the list of replicas true: we are in it, the silent are not.

use std::time::Duration;

use guildhall_domain::ids::ReplicaId;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, replicas};
use jiff::Timestamp;
use tracing::info;

/// A replica is forgotten after this many missed heartbeats.
const MISSED_BEATS: u32 = 4;

#[derive(Debug)]
pub struct Replicas {
    pub store: Store,
    pub id: ReplicaId,
    pub version: String,
    pub started_at: Timestamp,
    pub every: Duration,
}

impl Reconciler for Replicas {
    type Error = StoreError;
    const NAME: &'static str = "replicas";

    async fn round(&self) -> Result<(), StoreError> {
        replicas::heartbeat(&self.store, self.id, &self.version, self.started_at).await?;
        let forgotten = replicas::forget_silent(&self.store, self.every * MISSED_BEATS).await?;
        if forgotten > 0 {
            info!(forgotten, "forgot {forgotten} silent replicas");
        }
        Ok(())
    }
}
