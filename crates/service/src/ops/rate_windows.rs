//! Forgets the windows of rates that have ended.

use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, rate_windows};
use tokio_util::sync::CancellationToken;

/// Rows deleted with one statement: some milliseconds.
const BATCH: u32 = 5_000;

/// Batches of one round. What is left waits for the next.
const BATCHES_AT_ONCE: usize = 100;

#[derive(Debug)]
pub struct RateWindows {
    pub store: Store,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl Reconciler for RateWindows {
    type Error = StoreError;
    const NAME: &'static str = "rate_windows";

    async fn round(&self) -> Result<(), StoreError> {
        for _ in 0..BATCHES_AT_ONCE {
            let forgotten = rate_windows::forget_ended(&self.store, BATCH).await?;
            if forgotten < u64::from(BATCH) || self.stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}
