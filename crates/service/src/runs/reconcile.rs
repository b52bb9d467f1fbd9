//! Reconciles open runs: each is held by a runner, waits for one, or is ended.

use std::time::Duration;

use guildhall_domain::ids::RunId;
use guildhall_domain::runs::lease::Lease;
use guildhall_domain::runs::wait_deadline;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, leases, runs};
use tracing::{info, warn};

use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::LockedRun;
use crate::run_steps::lost_runner::{RunnerLoss, take_from_lost_runner};

/// Runs handled in one round; the next takes the rest.
const BATCH_SIZE: u32 = 200;

/// Takes runs from lost runners, and ends runs that waited too long.
#[derive(Debug)]
pub struct ReconcileRuns(pub Deps);

impl Reconciler for ReconcileRuns {
    type Error = ServiceError;
    const NAME: &'static str = "runs";

    async fn round(&self) -> Result<(), ServiceError> {
        let Self(deps) = self;
        let mut failed = None;
        for id in leases::list_expired(&deps.store, deps.run_timeouts.grace, BATCH_SIZE).await? {
            let grace = deps.run_timeouts.grace();
            let is_lost = |lease: &Lease, now| !lease.is_live(now, grace);
            let taken = take_from_lost_runner(deps, id, RunnerLoss::Unexpected, is_lost).await;
            record_failure(id, taken, &mut failed);
        }
        let (unclaimed, idle) =
            (deps.run_timeouts.unclaimed.as_secs_f64(), deps.run_timeouts.idle.as_secs_f64());
        for id in runs::list_overdue(&deps.store, unclaimed, idle, BATCH_SIZE).await? {
            record_failure(id, self.end_overdue(id).await, &mut failed);
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Records a failure and continues: one run whose lock is held for long must not delay the others.
fn record_failure(id: RunId, outcome: Result<(), ServiceError>, failed: &mut Option<ServiceError>) {
    if let Err(error) = outcome {
        warn!(run.id = %id, error = &error as &dyn std::error::Error, "{id} could not be reconciled");
        *failed = Some(error);
    }
}

impl ReconcileRuns {
    async fn end_overdue(&self, id: RunId) -> Result<(), ServiceError> {
        let Self(deps) = self;
        let mut locked = LockedRun::begin(&deps.store, id).await?;
        let run = &locked.run;
        let (at, outcome) =
            wait_deadline(!locked.open.is_empty(), run.waiting_since, deps.run_timeouts.wait_limits());
        if run.lease.is_some() || run.state.is_ended() || run.parked_until.is_some() || run.now < at {
            return Ok(locked.tx.rollback().await?);
        }
        locked.end(&outcome).await?;
        locked.commit(deps).await?;
        info!(run.id = %id, "{id} has ended: no runner claimed it in time");
        Ok(())
    }
}

/// Creates partitions of the event table ahead of time.
#[derive(Debug)]
pub struct EventPartitions(pub Store);

/// Partitions are created for this many weeks.
const WEEKS_AHEAD: u32 = 8;

impl EventPartitions {
    pub const INTERVAL: Duration = Duration::from_secs(6 * 3600);
}

impl Reconciler for EventPartitions {
    type Error = guildhall_store::StoreError;
    const NAME: &'static str = "run-parts";

    async fn round(&self) -> Result<(), Self::Error> {
        guildhall_store::journal::create_run_partitions(&self.0, WEEKS_AHEAD).await
    }
}
