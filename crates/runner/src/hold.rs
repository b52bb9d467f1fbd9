//! Holding a run: the lease is renewed in time, and when it cannot be, everything stops before it ends.

use std::time::Duration;

use guildhall_sdk::runner::HeldRun;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::guard::Leash;
use crate::pump::send::is_over;

/// A lease is renewed after this part of it, and again soon when that failed.
const RENEW_AFTER: u32 = 3;

/// When this part of a lease is left and it was not renewed, the runner gives up: the backend must be dead before the
/// lease ends, and killing takes time.
const GIVE_UP_BEFORE: u32 = 4;

/// One attempt may take this part of a lease: behind one address another server may answer the next.
const ATTEMPT_WITHIN: u32 = 6;

/// When this part is left, the guard kills a runner that did not even give up.
const KILL_BEFORE: u32 = 8;

/// A lease that is held.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) held: HeldRun,
    pub(crate) lease: Duration,
    /// Before the lease was asked for. Time is counted on this machine's own monotonic clock: the server's lease ends
    /// later.
    pub(crate) since: Instant,
    pub(crate) leash: Leash,
    /// Cancelled when the run is not ours any more, or when nobody knows.
    pub(crate) lost: CancellationToken,
}

impl Hold {
    /// Renews the lease until told to stop.
    pub(crate) async fn keep(self, stop: CancellationToken) {
        let Self { held, lease, since, leash, lost } = self;
        let (mut renewed, mut wait) = (since, lease / RENEW_AFTER);
        while !lost.is_cancelled() {
            leash.until((renewed + lease - lease / KILL_BEFORE).saturating_duration_since(Instant::now()));
            let give_up = renewed + lease - lease / GIVE_UP_BEFORE;
            tokio::select! {
                () = sleep(wait.min(give_up.saturating_duration_since(Instant::now()))) => {}
                () = stop.cancelled() => break,
                () = lost.cancelled() => break,
            }
            let asked = Instant::now();
            if asked >= give_up {
                warn!("the lease could not be renewed in time: the backend is stopped before it ends");
                lost.cancel();
                break;
            }
            match timeout((give_up - asked).min(lease / ATTEMPT_WITHIN), held.renew()).await {
                Ok(Ok(_)) => {
                    renewed = asked;
                    wait = lease / RENEW_AFTER;
                }
                Ok(Err(error)) if is_over(&error) => {
                    warn!("the run is not held any more: {error}");
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
