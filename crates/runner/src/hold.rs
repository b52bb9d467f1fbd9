//! Holding a run: the lease is renewed in time, and when it cannot be, everything stops before it ends.

use std::time::Duration;

use guildhall_sdk::runner::HeldRun;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::pump::send::is_over;

/// A lease is renewed after this part of it, and again soon when that failed.
const RENEW_AFTER: u32 = 3;

/// When this part of a lease is left and it was not renewed, the runner gives up: the backend must be dead before the
/// lease ends, and killing takes time.
const GIVE_UP_BEFORE: u32 = 4;

/// Renews the lease until told to stop. Cancels `lost` when the run is not ours any more, or when nobody knows.
/// Time is counted on this machine's own monotonic clock, from before each request: the server's lease ends later.
pub(crate) async fn keep(held: HeldRun, lease: Duration, lost: CancellationToken, stop: CancellationToken) {
    let mut renewed = Instant::now();
    let mut wait = lease / RENEW_AFTER;
    loop {
        let give_up = renewed + lease - lease / GIVE_UP_BEFORE;
        tokio::select! {
            () = sleep(wait.min(give_up.saturating_duration_since(Instant::now()))) => {}
            () = stop.cancelled() => return,
            () = lost.cancelled() => return,
        }
        let asked = Instant::now();
        if asked >= give_up {
            warn!("the lease could not be renewed in time: the backend is stopped before it ends");
            lost.cancel();
            return;
        }
        match timeout(give_up - asked, held.renew()).await {
            Ok(Ok(_)) => {
                renewed = asked;
                wait = lease / RENEW_AFTER;
            }
            Ok(Err(error)) if is_over(&error) => {
                warn!("the run is not held any more: {error}");
                lost.cancel();
                return;
            }
            Ok(Err(error)) => {
                warn!("cannot renew the lease: {error}");
                wait = (lease / 20).max(Duration::from_millis(50));
            }
            Err(_) => wait = Duration::ZERO,
        }
    }
}
