//! Deletes rate-limit windows that have ended.

use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, rate_windows};
use tokio_util::sync::CancellationToken;

/// Rows deleted with one statement: some milliseconds.
const BATCH_SIZE: u32 = 5_000;

/// Batches in one round. The rest waits for the next round.
const MAX_BATCHES: usize = 100;

#[derive(Debug)]
pub struct RateWindowCleanup {
    pub store: Store,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl Reconciler for RateWindowCleanup {
    type Error = StoreError;
    const NAME: &'static str = "rate_windows";

    async fn round(&self) -> Result<(), StoreError> {
        for _ in 0..MAX_BATCHES {
            let deleted = rate_windows::delete_ended(&self.store, BATCH_SIZE).await?;
            if deleted < u64::from(BATCH_SIZE) || self.stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}
