//! Starts runners and looks after them: those that were asked for, those that runs have waited for, and warm ones.
//!
//! Each round may be repeated and stands beside the same round on other replicas: rows are taken with SKIP LOCKED, what is
//! counted is counted under the lock of the place, and the launcher starts an attempt once whoever asks.

mod start;
mod tend;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{AttemptId, RunnerJobId, TenantId};
use guildhall_domain::runners::job::{COLD_STARTS_AT_MOST, JobKind, cold_start_after};
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_launcher::Launcher;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::runner_jobs::{self as rows, NewJob, ToStart};

use crate::ServiceError;
use crate::runners::jobs::{Ask, write};
use crate::runs::{Locked, Runs};

/// A run that no warm runner has taken in this time gets a runner of its own.
const COLD_AFTER: Duration = Duration::from_secs(1);

/// Runs that a round looks at, to start runners for as many as there is room. Some of them wait until their next attempt.
const COLD_AT_ONCE: u32 = 200;

/// Pairs of tenant and profile that a round looks at.
const WAITING_AT_MOST: u32 = 500;

/// Warm runners that fail in this time, so often, are not replaced until it is over: something is wrong with them all.
const FAILED_WITHIN: Duration = Duration::from_secs(60);
const FAILED_AT_MOST: i64 = 5;

/// What a server starts by itself.
#[derive(Debug, Clone)]
pub struct Pool {
    /// How many idle runners of each profile wait for a run.
    pub warm: BTreeMap<Slug, u32>,
    /// Whether a run that no warm runner takes gets one of its own.
    pub cold_start: bool,
    /// Processes at a time, all counted.
    pub at_most: u32,
    /// How long a warm runner waits for a run. Its token holds a little longer.
    pub warm_for: Duration,
}

/// Keeps runners going.
#[derive(Debug)]
pub struct TendRunnerJobs {
    pub runs: Runs,
    pub launcher: Arc<dyn Launcher>,
    pub pool: Pool,
}

impl Reconciler for TendRunnerJobs {
    type Error = ServiceError;
    const NAME: &'static str = "runner-jobs";

    async fn round(&self) -> Result<(), ServiceError> {
        // What has ended makes room first.
        let tended = self.tend().await;
        let warmed = self.keep_warm().await;
        let cold = if self.pool.cold_start { self.start_cold().await } else { Ok(()) };
        let started = self.start().await;
        tended.and(warmed).and(cold).and(started)
    }
}

impl TendRunnerJobs {
    /// Writes down as many warm runners as are missing.
    async fn keep_warm(&self) -> Result<(), ServiceError> {
        for (profile, wanted) in &self.pool.warm {
            let profile = profile.as_str();
            let mut tx = self.runs.store.begin().await?;
            rows::lock_place(&mut tx, self.launcher.place()).await?;
            let census = rows::census(&mut tx, self.launcher.place(), profile).await?;
            let failed = rows::failed_lately(&mut tx, self.launcher.place(), profile, FAILED_WITHIN).await?;
            let room = self.pool.at_most.saturating_sub(census.open);
            let missing = if failed < FAILED_AT_MOST { wanted.saturating_sub(census.warm) } else { 0 };
            for _ in 0..missing.min(room) {
                let new = NewJob {
                    id: RunnerJobId::generate(),
                    attempt: AttemptId::generate(),
                    kind: JobKind::Warm,
                    profile,
                    run: None,
                    command: None,
                    launcher: self.launcher.kind(),
                    place: Some(self.launcher.place()),
                    created_by: None,
                };
                rows::insert(&mut tx, &new).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// Writes down a runner for each run that has waited for one.
    async fn start_cold(&self) -> Result<(), ServiceError> {
        let store = &self.runs.store;
        let mut waiting = rows::waiting_profiles(store, COLD_AFTER, WAITING_AT_MOST).await?;
        waiting.retain(|(tenant, profile)| self.can_start(*tenant, profile));
        if waiting.is_empty() {
            return Ok(());
        }
        let room = self.room().await?;
        let at_most = COLD_STARTS_AT_MOST;
        let waiting = rows::to_start(store, &waiting, COLD_AFTER, at_most, COLD_AT_ONCE).await?;
        for run in waiting.into_iter().filter(is_due).take(room) {
            self.start_for(run).await?;
        }
        Ok(())
    }

    /// Returns how many more may run here. No more than that are written down: what is written is started in its order,
    /// and who comes later with fewer shall come first.
    async fn room(&self) -> Result<usize, ServiceError> {
        let mut tx = self.runs.store.begin().await?;
        let census = rows::census(&mut tx, self.launcher.place(), "").await?;
        tx.rollback().await?;
        Ok(usize::try_from(self.pool.at_most.saturating_sub(census.open)).unwrap_or(0))
    }

    fn can_start(&self, tenant: TenantId, profile: &str) -> bool {
        let profile: Result<BackendProfile, _> = profile.parse();
        profile.is_ok_and(|profile| self.launcher.check(Some(tenant), &profile).is_ok())
    }

    async fn start_for(&self, waiting: ToStart) -> Result<(), ServiceError> {
        let mut locked = Locked::begin(&self.runs.store, waiting.run).await?;
        let (id, place) = (RunnerJobId::generate(), Some(self.launcher.place()));
        let ask = Ask { id, kind: JobKind::Cold, command: None, place, created_by: None };
        match write(&mut locked, &ask, self.launcher.as_ref()).await {
            Ok(()) => Ok(locked.tx.commit().await?),
            // Somebody has taken it meanwhile, or it has ended.
            Err(ServiceError::Run(_)) => Ok(locked.tx.rollback().await?),
            Err(error) => Err(error),
        }
    }
}

fn is_due(waiting: &ToStart) -> bool {
    match (cold_start_after(waiting.ended), waiting.since) {
        (Some(after), Some(since)) => since >= after,
        (Some(_), None) => true,
        (None, _) => false,
    }
}
