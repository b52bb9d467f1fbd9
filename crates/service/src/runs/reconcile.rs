//! Reconciles open runs: each is held by a runner, waits for one, or is ended.

use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use futures::stream;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::lease::Lease;
use guildhall_domain::runs::wait_deadline;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::{Store, leases, runs};
use tracing::{info, warn};

use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::LockedRun;
use crate::run_steps::lost_runner::{RunnerLoss, take_locked_run};

/// Runs that one replica handles at once. Most of the time of each is the wait for the disk; more would keep connections from
/// requests.
const WORKERS: usize = 6;

/// Runs of one worker in one round; the next round takes the rest.
const MAX_RUNS_OF_WORKER: usize = 200;

/// Overdue runs handled in one round.
const BATCH_SIZE: u32 = 200;

/// Takes runs from lost runners, and ends runs that waited too long.
#[derive(Debug)]
pub struct ReconcileRuns(pub Deps);

impl Reconciler for ReconcileRuns {
    type Error = ServiceError;
    const NAME: &'static str = "runs";
    const TIMEOUT: Duration = Duration::from_secs(15);

    async fn round(&self) -> Result<(), ServiceError> {
        let recovered = self.recover_lost().await;
        let ended = self.end_all_overdue().await;
        recovered.and(ended)
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
    /// Takes runs from lost runners, several at once. Other replicas do the same; each run is locked by one of them.
    async fn recover_lost(&self) -> Result<(), ServiceError> {
        let Self(deps) = self;
        let workers = u32::try_from(WORKERS).unwrap_or(u32::MAX);
        let lost = leases::list_expired(&deps.store, deps.run_timeouts.grace, workers).await?;
        join_all(lost.iter().map(|_| self.recover_next())).await.into_iter().collect()
    }

    /// Takes one run after the other, as long as there are any that nobody else has locked.
    async fn recover_next(&self) -> Result<(), ServiceError> {
        let Self(deps) = self;
        let grace = deps.run_timeouts.grace();
        let is_lost = |lease: &Lease, now| !lease.is_live(now, grace);
        let (mut failed, mut skipped) = (None, Vec::new());
        for _ in 0..MAX_RUNS_OF_WORKER {
            let mut tx = deps.store.begin().await?;
            let found = leases::lock_expired(&mut tx, deps.run_timeouts.grace, &skipped).await?;
            let Some((id, head)) = found else {
                tx.rollback().await?;
                break;
            };
            let taken = match LockedRun::load(tx, head, id).await {
                Ok(locked) => take_locked_run(deps, locked, RunnerLoss::Unexpected, is_lost).await,
                Err(error) => Err(error),
            };
            if taken.is_err() {
                skipped.push(id);
            }
            record_failure(id, taken, &mut failed);
        }
        failed.map_or(Ok(()), Err)
    }

    async fn end_all_overdue(&self) -> Result<(), ServiceError> {
        let Self(deps) = self;
        let (unclaimed, idle) =
            (deps.run_timeouts.unclaimed.as_secs_f64(), deps.run_timeouts.idle.as_secs_f64());
        let overdue = runs::list_overdue(&deps.store, unclaimed, idle, BATCH_SIZE).await?;
        let ended = stream::iter(overdue).map(|id| async move { (id, self.end_overdue(id).await) });
        let mut ended = ended.buffer_unordered(WORKERS);
        let mut failed = None;
        while let Some((id, outcome)) = ended.next().await {
            record_failure(id, outcome, &mut failed);
        }
        failed.map_or(Ok(()), Err)
    }

    async fn end_overdue(&self, id: RunId) -> Result<(), ServiceError> {
        let Self(deps) = self;
        // A run that is locked is being claimed, or ended by another replica.
        let Some(mut locked) = LockedRun::try_begin(&deps.store, id).await? else { return Ok(()) };
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
