//! Deletes idempotency keys past their window.

use std::time::Duration;

use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, idempotency_keys};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// How often old keys are deleted: about a hundredth of their window.
pub const CLEANUP_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// Keys deleted with one statement: some milliseconds of work.
const BATCH_SIZE: u32 = 1_000;

/// Batches in one round. The rest waits for the next round.
const MAX_BATCHES: usize = 100;

#[derive(Debug)]
pub struct IdempotencyKeyCleanup {
    pub store: Store,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl Reconciler for IdempotencyKeyCleanup {
    type Error = StoreError;
    const NAME: &'static str = "idempotency-keys";

    async fn round(&self) -> Result<(), StoreError> {
        let mut deleted = 0;
        for _ in 0..MAX_BATCHES {
            let batch = idempotency_keys::delete_old(&self.store, BATCH_SIZE).await?;
            deleted += batch;
            if batch < u64::from(BATCH_SIZE) || self.stop.is_cancelled() {
                break;
            }
        }
        debug!(deleted, "deleted {deleted} idempotency keys");
        Ok(())
    }
}
