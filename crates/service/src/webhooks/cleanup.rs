//! Deletes old events of webhooks, and listeners whose program is gone.

use std::time::Duration;

use guildhall_domain::webhooks::schedule::{KEEP_EVENTS, LISTENER_LIFETIME, MAX_KEPT_EVENTS};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, agent_webhooks, retention, webhook_events};
use tokio_util::sync::CancellationToken;

/// Rows deleted by one statement.
const BATCH: u32 = 1_000;

/// Batches of one kind in one round. The rest waits for the next one.
const MAX_BATCHES: usize = 1_000;

/// Deletes what is no longer kept.
#[derive(Debug)]
pub struct DeleteOldEvents {
    pub store: Store,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl DeleteOldEvents {
    pub const INTERVAL: Duration = Duration::from_secs(300);

    async fn batches<F: Future<Output = Result<u64, StoreError>>>(
        &self,
        delete: impl Fn() -> F,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_BATCHES {
            if delete().await? < u64::from(BATCH) || self.stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}

impl Reconciler for DeleteOldEvents {
    type Error = StoreError;
    const NAME: &'static str = "webhook-events";

    async fn round(&self) -> Result<(), StoreError> {
        let store = &self.store;
        // The clock of a replica may be wrong.
        let now = retention::now(store).await?;
        self.batches(|| agent_webhooks::delete_silent(store, now - LISTENER_LIFETIME, BATCH)).await?;
        self.batches(|| webhook_events::delete_old(store, now - KEEP_EVENTS, BATCH)).await?;
        self.batches(|| webhook_events::delete_excess(store, MAX_KEPT_EVENTS, BATCH)).await
    }
}
