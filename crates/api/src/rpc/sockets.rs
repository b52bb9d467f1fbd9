//! What the connections of a replica share.

use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::{Failure, FailureKind};
use guildhall_runtime::Tasks;
use guildhall_service::access::authority::AuthorityWatches;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::permits::SocketPermits;

/// The limits of the socket, for one replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLimits {
    /// Open connections.
    pub total: usize,
    /// Connections that are not authenticated yet.
    pub unauthenticated: usize,
    /// Connections of one address that are not authenticated yet.
    pub unauthenticated_per_address: usize,
    /// Connections of one address, or of one /64 network of IPv6.
    pub per_address: usize,
    /// Connections of one AID or user.
    pub per_client: usize,
    /// Concurrent calls of all connections; more fail with `overloaded`.
    pub concurrent_calls: usize,
    /// The time until `auth.connect` must succeed.
    pub auth_timeout: Duration,
    /// How long a connection may be silent before the server sends a ping.
    pub ping_after: Duration,
    /// How long a connection may be silent before it is closed.
    pub idle_timeout: Duration,
    /// How long frames may wait for a client that does not read.
    pub write_timeout: Duration,
}

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
