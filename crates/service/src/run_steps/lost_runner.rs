//! Takes a run from a lost runner.

use guildhall_domain::ids::RunId;
use guildhall_domain::runs::lease::Lease;
use jiff::Timestamp;
use metrics::counter;
use tracing::warn;

use super::LockedRun;
use crate::ServiceError;
use crate::deps::Deps;

/// Takes a run from its holder, if `is_lost` says so, ends the holder's running commands and offers the run again. The
/// lease is checked under the lock: it may have been renewed meanwhile, or another replica may have been first.
pub(crate) async fn take_from_lost_runner(
    deps: &Deps,
    id: RunId,
    is_lost: impl FnOnce(&Lease, Timestamp) -> bool,
) -> Result<(), ServiceError> {
    let mut locked = LockedRun::begin(&deps.store, id).await?;
    let now = locked.run.now;
    let lost = locked.run.lease.clone().filter(|lease| is_lost(lease, now));
    let Some(lease) = lost else { return Ok(locked.tx.rollback().await?) };
    locked.lose_runner().await?;
    let tenant = locked.run.tenant;
    locked.commit(&deps.journals).await?;
    deps.offers.announce(tenant).await;
    counter!("guildhall_runners_lost_total").increment(1);
    warn!(run.id = %id, runner.id = %lease.runner, "lost {}; {id} is offered to the next runner", lease.runner);
    Ok(())
}
