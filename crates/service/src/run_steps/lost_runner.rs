//! Takes a run from a lost runner.

use guildhall_domain::ids::RunId;
use guildhall_domain::runs::lease::Lease;
use jiff::Timestamp;
use metrics::counter;
use tracing::{info, warn};

use super::LockedRun;
use crate::ServiceError;
use crate::deps::Deps;

/// Why a runner was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunnerLoss {
    Unexpected,
    /// The server stops the runners that it started.
    Shutdown,
}

/// Takes a run from its holder, if `is_lost` says so, ends the holder's running commands and offers the run again. The
/// lease is checked under the lock: it may have been renewed meanwhile, or another replica may have been first.
pub(crate) async fn take_from_lost_runner(
    deps: &Deps,
    id: RunId,
    loss: RunnerLoss,
    is_lost: impl FnOnce(&Lease, Timestamp) -> bool,
) -> Result<(), ServiceError> {
    take_locked_run(deps, LockedRun::begin(&deps.store, id).await?, loss, is_lost).await
}

/// Does the same for a run that the caller has locked.
pub(crate) async fn take_locked_run(
    deps: &Deps,
    mut locked: LockedRun,
    loss: RunnerLoss,
    is_lost: impl FnOnce(&Lease, Timestamp) -> bool,
) -> Result<(), ServiceError> {
    let (id, now) = (locked.run.id, locked.run.now);
    let lost = locked.run.lease.clone().filter(|lease| is_lost(lease, now));
    let Some(lease) = lost else { return Ok(locked.tx.rollback().await?) };
    locked.lose_runner().await?;
    let run = locked.run.clone();
    locked.commit(deps).await?;
    deps.offers.announce(&run).await;
    counter!("guildhall_runners_lost_total").increment(1);
    let runner = lease.runner;
    match loss {
        RunnerLoss::Unexpected => {
            warn!(run.id = %id, runner.id = %runner, "lost {runner}; {id} is offered to the next runner");
        }
        RunnerLoss::Shutdown => {
            info!(run.id = %id, runner.id = %runner, "stopped {runner}; {id} is offered to the next runner");
        }
    }
    Ok(())
}
