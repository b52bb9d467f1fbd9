//! Taking a run from a runner that is lost.

use guildhall_domain::ids::RunId;
use guildhall_domain::runs::lease::Lease;
use jiff::Timestamp;
use metrics::counter;
use tracing::warn;

use super::{Locked, Runs};
use crate::ServiceError;

impl Runs {
    /// Takes a run from its holder, if that is lost, and offers it to the next. What it left running ends. Asked under the
    /// lock: the lease may have been renewed meanwhile, or another replica may have been first.
    pub(crate) async fn take_from_lost(
        &self,
        id: RunId,
        is_lost: impl FnOnce(&Lease, Timestamp) -> bool,
    ) -> Result<(), ServiceError> {
        let mut locked = Locked::begin(&self.store, id).await?;
        let now = locked.run.now;
        let lost = locked.run.lease.clone().filter(|lease| is_lost(lease, now));
        let Some(lease) = lost else { return Ok(locked.tx.rollback().await?) };
        locked.lose_runner().await?;
        let tenant = locked.run.tenant;
        locked.commit(&self.journals).await?;
        self.offers.announce(tenant).await;
        counter!("guildhall_runners_lost_total").increment(1);
        warn!(run.id = %id, runner.id = %lease.runner, "{} was lost; {id} is offered to the next", lease.runner);
        Ok(())
    }
}
