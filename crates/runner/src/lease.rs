//! Keeps the lease of a run: renews it in time, and stops the backend before it expires when renewal fails.

use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::LeasedRun;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::guard::GuardLink;

/// Renew after this fraction of the lease (1/3).
const RENEW_DIVISOR: u32 = 3;

/// Give up when this fraction of the lease is left (1/4): the backend must be dead before the lease expires, and
/// killing it takes time.
const GIVE_UP_DIVISOR: u32 = 4;

/// Limit one renewal request to this fraction of the lease (1/6): behind a load balancer, the next request may reach
/// another server.
const REQUEST_TIMEOUT_DIVISOR: u32 = 6;

/// The guard kills a runner that did not give up when this fraction is left (1/8).
const KILL_DIVISOR: u32 = 8;

/// Renews the lease of one run in the background.
#[derive(Debug)]
pub(crate) struct LeaseKeeper {
    pub(crate) held: LeasedRun,
    pub(crate) lease: Duration,
    /// Taken before the claim was sent, on this machine's monotonic clock: the lease on the server expires later.
    pub(crate) since: Instant,
    pub(crate) guard: GuardLink,
    /// Cancelled when the lease is lost, or cannot be confirmed.
    pub(crate) lost: CancellationToken,
}

impl LeaseKeeper {
    /// Renews the lease until `stop` is cancelled or the lease is lost.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let Self { held, lease, since, guard, lost } = self;
        let (mut renewed_at, mut wait) = (since, lease / RENEW_DIVISOR);
        while !lost.is_cancelled() {
            let kill_at = renewed_at + lease - lease / KILL_DIVISOR;
            guard.report_lease(kill_at.saturating_duration_since(Instant::now()));
            let give_up_at = renewed_at + lease - lease / GIVE_UP_DIVISOR;
            tokio::select! {
                () = sleep(wait.min(give_up_at.saturating_duration_since(Instant::now()))) => {}
                () = stop.cancelled() => break,
                () = lost.cancelled() => break,
            }
            let sent_at = Instant::now();
            if sent_at >= give_up_at {
                warn!("the lease could not be renewed in time: stopping the backend before it expires");
                lost.cancel();
                break;
            }
            match timeout((give_up_at - sent_at).min(lease / REQUEST_TIMEOUT_DIVISOR), held.renew()).await {
                Ok(Ok(_)) => {
                    renewed_at = sent_at;
                    wait = lease / RENEW_DIVISOR;
                }
                Ok(Err(error)) if is_lease_lost(&error) => {
                    warn!("the lease is lost: {error}");
                    lost.cancel();
                    break;
                }
                Ok(Err(error)) => {
                    warn!("cannot renew the lease: {error}");
                    wait = (lease / 20).max(Duration::from_millis(50));
                }
                Err(_) => wait = Duration::ZERO,
            }
        }
    }
}

/// Returns whether the error means that this runner no longer holds the run.
pub(crate) fn is_lease_lost(error: &ClientError) -> bool {
    matches!(
        error.kind(),
        Some(FailureKind::RunnerLeaseConflict | FailureKind::Unauthenticated | FailureKind::NotFound)
    )
}
