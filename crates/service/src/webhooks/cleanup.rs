//! Deletes old events of webhooks, those of deleted ones, and listeners whose program is gone.

use std::error::Error;
use std::time::{Duration, Instant};

use guildhall_domain::webhooks::schedule::{KEEP_EVENTS, LISTENER_LIFETIME, MAX_KEPT_EVENTS};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, agent_webhooks, retention, webhook_events};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Events deleted by one statement, with up to 49 attempts each.
const BATCH: u32 = 1_000;

/// Listeners deleted by one statement, with the lanes of their events.
const LISTENERS: u32 = 1;

/// The time of one step in one round, so that all of them end before the reconciler's timeout. The rest waits for the next round.
const STEP_TIME: Duration = Duration::from_secs(10);

/// Deleted webhooks whose events go in one round.
const MAX_WEBHOOKS: u32 = 1_000;

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
        size: u32,
        delete: impl Fn() -> F,
    ) -> Result<(), StoreError> {
        let end = Instant::now() + STEP_TIME;
        while delete().await? == u64::from(size) && Instant::now() < end && !self.stop.is_cancelled() {}
        Ok(())
    }

    async fn delete_events_of_deleted_webhooks(&self) -> Result<(), StoreError> {
        let store = &self.store;
        let end = Instant::now() + STEP_TIME;
        for webhook in webhook_events::list_deleted_webhooks(store, MAX_WEBHOOKS).await? {
            while webhook_events::delete_of_webhook(store, webhook, BATCH).await? == u64::from(BATCH) {
                if Instant::now() >= end || self.stop.is_cancelled() {
                    return Ok(());
                }
            }
            webhook_events::forget_deleted_webhook(store, webhook).await?;
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
        // One that fails holds up no other.
        let steps = [
            self.batches(LISTENERS, || {
                agent_webhooks::delete_silent(store, now - LISTENER_LIFETIME, LISTENERS)
            })
            .await,
            self.delete_events_of_deleted_webhooks().await,
            self.batches(BATCH, || webhook_events::delete_old(store, now - KEEP_EVENTS, BATCH)).await,
            self.batches(BATCH, || webhook_events::delete_excess(store, MAX_KEPT_EVENTS, BATCH)).await,
        ];
        let mut first = Ok(());
        for step in steps {
            if let Err(error) = &step {
                warn!(error = error as &dyn Error, "cannot delete old events of webhooks");
            }
            first = first.and(step);
        }
        first
    }
}
