//! What the connections of a replica share.

use std::sync::Arc;

use guildhall_domain::{Failure, FailureKind};
use guildhall_runtime::Tasks;
use guildhall_service::access::authority::AuthorityWatches;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::limits::SocketLimits;
use super::permits::SocketPermits;

/// The connections of this replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sockets {
    pub(super) tasks: Tasks,
    pub(super) authority: AuthorityWatches,
    pub(super) limits: SocketLimits,
    pub(super) permits: SocketPermits,
    calls: Arc<Semaphore>,
    /// Cancelled when the server stops accepting.
    pub(super) closing: CancellationToken,
}

impl Sockets {
    #[must_use]
    pub fn new(
        tasks: Tasks,
        authority: AuthorityWatches,
        limits: SocketLimits,
        closing: CancellationToken,
    ) -> Self {
        let (permits, calls) = (SocketPermits::new(limits), Semaphore::new(limits.concurrent_calls));
        Self { tasks, authority, limits, permits, calls: Arc::new(calls), closing }
    }

    /// Returns a permit for one call. Refuses at once over the limit: a queue would only hide the overload.
    pub(super) fn call_permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        Arc::clone(&self.calls).try_acquire_owned().map_err(|_| {
            Failure::new(FailureKind::Overloaded, "too many concurrent calls; try again in a moment")
        })
    }
}
