//! Nothing hangs: every open run is held, is waited for, or is ended.

use std::time::Duration;

use guildhall_domain::ids::RunId;
use guildhall_domain::runs::patience_ends;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, leases, runs};
use tracing::{info, warn};

use crate::ServiceError;
use crate::runs::{Locked, Runs};

/// Runs looked after in one round; the next takes the rest.
const AT_ONCE: u32 = 200;

/// Takes runs from runners that were lost, and ends those that nobody came for.
#[derive(Debug)]
pub struct TendRuns(pub Runs);

impl Reconciler for TendRuns {
    type Error = ServiceError;
    const NAME: &'static str = "runs";

    async fn round(&self) -> Result<(), ServiceError> {
        let Self(runs) = self;
        let mut failed = None;
        for id in leases::over(&runs.store, runs.times.grace, AT_ONCE).await? {
            let grace = runs.times.grace();
            let taken = runs.take_from_lost(id, |lease, now| !lease.is_live(now, grace)).await;
            keep_going(id, taken, &mut failed);
        }
        let (unclaimed, idle) = (runs.times.unclaimed.as_secs_f64(), runs.times.idle.as_secs_f64());
        for id in runs::overdue(&runs.store, unclaimed, idle, AT_ONCE).await? {
            keep_going(id, self.end_overdue(id).await, &mut failed);
        }
        failed.map_or(Ok(()), Err)
    }
}

/// A run that cannot be tended now, because somebody holds its lock for long, must not keep the others waiting.
fn keep_going(id: RunId, outcome: Result<(), ServiceError>, failed: &mut Option<ServiceError>) {
    if let Err(error) = outcome {
        warn!(run.id = %id, error = &error as &dyn std::error::Error, "{id} could not be tended");
        *failed = Some(error);
    }
}

impl TendRuns {
    async fn end_overdue(&self, id: RunId) -> Result<(), ServiceError> {
        let Self(runs) = self;
        let mut locked = Locked::begin(&runs.store, id).await?;
        let run = &locked.run;
        let (at, ending) = patience_ends(!locked.open.is_empty(), run.waiting_since, runs.times.patience());
        if run.lease.is_some() || run.state.is_ended() || run.now < at {
            return Ok(locked.tx.rollback().await?);
        }
        locked.end(&ending).await?;
        locked.commit(&runs.journals).await?;
        info!(run.id = %id, "{id} has ended: nobody came for it in time");
        Ok(())
    }
}

/// Keeps the parts of the table of events ahead of the calendar.
#[derive(Debug)]
pub struct RunParts(pub Store);

/// Weeks for which there is a place already.
const WEEKS_AHEAD: u32 = 8;

impl RunParts {
    pub const EVERY: Duration = Duration::from_secs(6 * 3600);
}

impl Reconciler for RunParts {
    type Error = guildhall_store::StoreError;
    const NAME: &'static str = "run-parts";

    async fn round(&self) -> Result<(), Self::Error> {
        guildhall_store::journal::make_run_parts(&self.0, WEEKS_AHEAD).await
    }
}
