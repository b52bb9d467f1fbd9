//! Starts inserted jobs.

use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{CommandId, RunId, TenantId};
use guildhall_domain::runners::job::JobPhase;
use guildhall_domain::runs::RunState;
use guildhall_domain::runs::command::CommandState;
use guildhall_launcher::{LaunchError, LaunchRequest, ProcessStatus};
use guildhall_store::runner_jobs::{self as rows, ClaimedJob};
use guildhall_store::{commands, enrolments, runs};
use secrecy::SecretString;
use tracing::warn;

use super::ReconcileRunnerJobs;
use crate::ServiceError;
use crate::runners::enrolments::{LaunchEnrolment, issue};

/// Jobs that one round starts.
const MAX_STARTS_PER_ROUND: u32 = 20;

/// A job fails after this many unsuccessful starts.
const MAX_TRIES: i32 = 3;

/// The time a runner started for a run has to register and claim it.
const COLD_ENROLMENT_TTL: Duration = Duration::from_secs(600);

/// How much longer the enrolment of a warm runner lives than the runner waits.
const WARM_ENROLMENT_MARGIN: Duration = Duration::from_secs(600);

impl ReconcileRunnerJobs {
    /// Claims jobs and starts them, within the process limit.
    pub(super) async fn start(&self) -> Result<(), ServiceError> {
        let launcher = self.launcher.id();
        let mut tx = self.deps.store.begin().await?;
        rows::lock_launcher(&mut tx, launcher).await?;
        let counts = rows::count_by_launcher(&mut tx, launcher, "").await?;
        let free_slots = self.pool.max_processes.saturating_sub(counts.started);
        // Jobs of a killed server are counted as started, and are claimed again.
        let claimed =
            rows::claim(&mut tx, launcher, self.launcher.kind(), free_slots.min(MAX_STARTS_PER_ROUND))
                .await?;
        tx.commit().await?;
        let mut failed = None;
        for job in claimed {
            if let Err(error) = self.start_one(&job).await {
                warn!(job = %job.id, error = &error as &dyn std::error::Error, "cannot start {}", job.id);
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn start_one(&self, job: &ClaimedJob) -> Result<(), ServiceError> {
        let tenant = match job.run {
            None => None,
            Some(run) => match self.find_waiting_tenant(run, job.command).await? {
                Some(tenant) => Some(tenant),
                None => return self.fail(job, "not started: the run no longer needs a runner").await,
            },
        };
        // A killed server may have started this attempt. The enrolment of that runner must stay valid.
        match self.launcher.status(job.attempt).await {
            Ok(ProcessStatus::Absent) => {}
            Ok(ProcessStatus::Running | ProcessStatus::Ended(_)) => {
                return Ok(rows::set_running(&self.deps.store, job.id).await?);
            }
            Err(error) => return self.record_launch_failure(job, &error).await,
        }
        let Ok(profile) = job.profile.parse() else {
            return self.fail(job, "invalid profile name").await;
        };
        let enrolment = self.issue_enrolment(job, tenant).await?;
        let launch = LaunchRequest { attempt: job.attempt, tenant, profile, run: job.run, enrolment };
        match self.launcher.launch(launch).await {
            Ok(()) => Ok(rows::set_running(&self.deps.store, job.id).await?),
            Err(error) => self.record_launch_failure(job, &error).await,
        }
    }

    /// Returns the tenant of a run that still needs a runner, or `None`; its command may have been cancelled.
    async fn find_waiting_tenant(
        &self,
        run: RunId,
        command: Option<CommandId>,
    ) -> Result<Option<TenantId>, ServiceError> {
        let store = &self.deps.store;
        let Some(found) = runs::find(store, run).await? else { return Ok(None) };
        let Some(command) = command else { return Ok(None) };
        let pending = commands::find(store, command).await?;
        let pending = pending.is_some_and(|command| command.state == CommandState::Pending);
        let waits = found.state == RunState::Open && found.lease.is_none() && pending;
        Ok(waits.then_some(found.tenant))
    }

    /// Creates the enrolment of a runner: for its run, or for the first run that a warm runner claims.
    async fn issue_enrolment(
        &self,
        job: &ClaimedJob,
        tenant: Option<TenantId>,
    ) -> Result<SecretString, ServiceError> {
        let name = format!("runner job {}", job.id);
        let ttl = match job.run {
            Some(_) => COLD_ENROLMENT_TTL,
            None => self.pool.warm_for.saturating_add(WARM_ENROLMENT_MARGIN),
        };
        // A one-letter profile is not a slug. Its enrolment is for one run, so it needs no profile limit.
        let profile: Option<Slug> = job.profile.parse().ok();
        let request = LaunchEnrolment {
            name: &name,
            run: tenant.zip(job.run),
            profile: profile.as_ref(),
            ttl,
            job: job.id,
        };
        let mut tx = self.deps.store.begin().await?;
        if let Some(earlier) = job.enrolment {
            enrolments::revoke_by_id(&mut tx, earlier).await?;
        }
        let secret = issue(&mut tx, &request).await?;
        tx.commit().await?;
        Ok(secret)
    }

    /// Leaves a job for a retry, or fails it.
    async fn record_launch_failure(&self, job: &ClaimedJob, error: &LaunchError) -> Result<(), ServiceError> {
        // The server shuts down; the next one starts the job.
        if !matches!(error, LaunchError::Closed) {
            warn!(job = %job.id, error = error as &dyn std::error::Error, "cannot start the process of {}", job.id);
        }
        match error {
            LaunchError::Profile(error) => self.fail(job, &error.to_string()).await,
            LaunchError::Io { .. } | LaunchError::Secret(_) if job.tries >= MAX_TRIES => {
                // The cause is for the operator's log only: it may name a path.
                self.fail(job, "cannot start its process: see the log of the server").await
            }
            LaunchError::Io { .. } | LaunchError::Secret(_) | LaunchError::Busy | LaunchError::Closed => {
                Ok(())
            }
        }
    }

    async fn fail(&self, job: &ClaimedJob, message: &str) -> Result<(), ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        rows::end(&mut tx, job.id, JobPhase::Failed, None, Some(message)).await?;
        if let Some(enrolment) = job.enrolment {
            enrolments::revoke_by_id(&mut tx, enrolment).await?;
        }
        Ok(tx.commit().await?)
    }
}
