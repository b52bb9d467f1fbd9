//! Forgets idempotency keys past their window.

use std::time::Duration;

use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, StoreError, idempotency_keys};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// Keys are looked through this often: a hundredth of their window.
pub const FORGET_EVERY: Duration = Duration::from_secs(15 * 60);

/// Keys forgotten in one statement: some milliseconds of work.
const BATCH: u32 = 1_000;

/// Batches in one round. A longer arrears waits for the next.
const BATCHES_AT_ONCE: usize = 100;

#[derive(Debug)]
pub struct IdempotencyKeys {
    pub store: Store,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl Reconciler for IdempotencyKeys {
    type Error = StoreError;
    const NAME: &'static str = "idempotency-keys";

    async fn round(&self) -> Result<(), StoreError> {
        let mut forgotten = 0;
        for _ in 0..BATCHES_AT_ONCE {
            let batch = idempotency_keys::forget_old(&self.store, BATCH).await?;
            forgotten += batch;
            if batch < u64::from(BATCH) || self.stop.is_cancelled() {
                break;
            }
        }
        debug!(forgotten, "forgot {forgotten} idempotency keys");
        Ok(())
    }
}
