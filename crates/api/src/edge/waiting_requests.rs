//! How many requests may wait on this replica.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The waiting requests of this replica.
#[derive(Debug, Clone)]
pub struct WaitingRequests(Arc<Semaphore>);

impl WaitingRequests {
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new(max)))
    }

    /// Returns the place of one more waiting request; none where there are too many.
    pub(super) fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}
