//! Starts and watches runners: requested ones, cold starts for waiting runs, and the warm pool.
//!
//! Rounds are idempotent and run on all replicas at once: rows are claimed with SKIP LOCKED, counts are taken under the
//! lock of the launcher, and the launcher starts each attempt once.

mod start;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{AttemptId, RunnerJobId};
use guildhall_domain::runners::job::{JobKind, MAX_COLD_STARTS, cold_start_backoff};
use guildhall_launcher::Launcher;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::runner_jobs::{self as rows, LaunchCandidate, NewJob};

use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::LockedRun;
use crate::run_steps::launcher_files::startable_profiles;
use crate::runners::jobs::{JobRequest, insert_job};

/// A run that no warm runner claims within this time gets a cold start.
const COLD_START_DELAY: Duration = Duration::from_secs(1);

/// Runs that a round considers for a cold start. Some of them are in backoff.
const MAX_COLD_CANDIDATES: u32 = 200;

/// Pairs of tenant and profile that a round considers.
const MAX_WAITING_PROFILES: u32 = 500;

/// After `MAX_FAILURES` failures of warm runners in this window they are not replaced: the cause is probably common.
const FAILURE_WINDOW: Duration = Duration::from_secs(60);
const MAX_FAILURES: i64 = 5;

/// Limits of the runners that this server starts by itself.
#[derive(Debug, Clone)]
pub struct RunnerPoolConfig {
    /// Idle runners of each profile.
    pub warm: BTreeMap<Slug, u32>,
    /// Whether a run that no warm runner claims gets a cold start.
    pub cold_start: bool,
    /// The limit of runner processes of all kinds.
    pub max_processes: u32,
    /// How long a warm runner waits for a run. Its enrolment lives a little longer.
    pub warm_for: Duration,
}

/// Reconciles the runner jobs of one launcher.
#[derive(Debug)]
pub struct ReconcileRunnerJobs {
    pub deps: Deps,
    pub launcher: Arc<dyn Launcher>,
    pub pool: RunnerPoolConfig,
}

impl Reconciler for ReconcileRunnerJobs {
    type Error = ServiceError;
    const NAME: &'static str = "runner-jobs";
    const TIMEOUT: Duration = Duration::from_secs(15);

    async fn round(&self) -> Result<(), ServiceError> {
        // Ended jobs free their slots first.
        let watched = self.watch().await;
        if self.launcher.is_closed() {
            return watched;
        }
        let warmed = self.fill_warm_pool().await;
        let cold = if self.pool.cold_start { self.insert_cold_starts().await } else { Ok(()) };
        let started = self.start().await;
        watched.and(warmed).and(cold).and(started)
    }
}

impl ReconcileRunnerJobs {
    /// Inserts jobs for the missing warm runners.
    async fn fill_warm_pool(&self) -> Result<(), ServiceError> {
        for (profile, target) in &self.pool.warm {
            let profile = profile.as_str();
            let mut tx = self.deps.store.begin().await?;
            rows::lock_launcher(&mut tx, self.launcher.id()).await?;
            let counts = rows::count_by_launcher(&mut tx, self.launcher.id(), profile).await?;
            let failed =
                rows::count_recent_failures(&mut tx, self.launcher.id(), profile, FAILURE_WINDOW).await?;
            let free_slots = self.pool.max_processes.saturating_sub(counts.open);
            let missing = if failed < MAX_FAILURES { target.saturating_sub(counts.warm) } else { 0 };
            for _ in 0..missing.min(free_slots) {
                let new = NewJob {
                    id: RunnerJobId::generate(),
                    attempt: AttemptId::generate(),
                    kind: JobKind::Warm,
                    profile,
                    run: None,
                    command: None,
                    launcher: self.launcher.kind(),
                    launcher_id: Some(self.launcher.id()),
                    created_by: None,
                };
                rows::insert(&mut tx, &new).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }

    /// Inserts jobs for runs that no warm runner has claimed.
    async fn insert_cold_starts(&self) -> Result<(), ServiceError> {
        let store = &self.deps.store;
        let waiting = rows::list_waiting_profiles(store, COLD_START_DELAY, MAX_WAITING_PROFILES).await?;
        if waiting.is_empty() {
            return Ok(());
        }
        let waiting = startable_profiles(&self.launcher, waiting).await?;
        if waiting.is_empty() {
            return Ok(());
        }
        let free_slots = self.free_slots().await?;
        let waiting = rows::list_launch_candidates(
            store,
            &waiting,
            COLD_START_DELAY,
            MAX_COLD_STARTS,
            MAX_COLD_CANDIDATES,
        )
        .await?;
        let due: Vec<LaunchCandidate> = waiting.into_iter().filter(is_due).collect();
        let missing_slots = due.len().saturating_sub(free_slots);
        if missing_slots > 0 {
            rows::drain_idle(store, self.launcher.id(), missing_slots).await?;
        }
        for run in due.into_iter().take(free_slots) {
            self.insert_cold_start(run).await?;
        }
        Ok(())
    }

    /// Returns how many more jobs this launcher may run. No more are inserted: inserted jobs start in their order, and
    /// a later run of a tenant with fewer runners must be able to go first.
    async fn free_slots(&self) -> Result<usize, ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        let counts = rows::count_by_launcher(&mut tx, self.launcher.id(), "").await?;
        tx.rollback().await?;
        Ok(usize::try_from(self.pool.max_processes.saturating_sub(counts.open)).unwrap_or(0))
    }

    async fn insert_cold_start(&self, waiting: LaunchCandidate) -> Result<(), ServiceError> {
        let mut locked = LockedRun::begin(&self.deps.store, waiting.run).await?;
        let (id, launcher_id) = (RunnerJobId::generate(), Some(self.launcher.id()));
        let request = JobRequest { id, kind: JobKind::Cold, command: None, launcher_id, created_by: None };
        match insert_job(&mut locked, &request, self.launcher.as_ref(), None).await {
            Ok(()) => Ok(locked.tx.commit().await?),
            // The run was claimed or has ended in the meantime.
            Err(ServiceError::Runner(_)) => Ok(locked.tx.rollback().await?),
            Err(error) => Err(error),
        }
    }
}

fn is_due(waiting: &LaunchCandidate) -> bool {
    match (cold_start_backoff(waiting.ended), waiting.since) {
        (Some(after), Some(since)) => since >= after,
        (Some(_), None) => true,
        (None, _) => false,
    }
}
