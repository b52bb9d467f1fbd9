//! Watches started jobs: stores their phase, and takes the runs of dead runners back.

use std::time::Duration;

use guildhall_domain::runners::job::Job;
use guildhall_domain::runners::job::{JobKind, JobPhase};
use guildhall_launcher::{ExitReason, ProcessStatus};
use guildhall_store::enrolments;
use guildhall_store::runner_jobs as rows;
use tracing::warn;

use super::ReconcileRunnerJobs;
use crate::ServiceError;
use crate::run_steps::lost_runner::{RunnerLoss, take_from_lost_runner};

/// Jobs of one launcher that a round checks: more than may run.
const MAX_JOBS: u32 = 1000;

/// A job whose launcher has not reported for this long is lost.
const LOST_AFTER: Duration = Duration::from_secs(300);

impl ReconcileRunnerJobs {
    pub(super) async fn watch(&self) -> Result<(), ServiceError> {
        let (store, launcher) = (&self.deps.store, self.launcher.id());
        let mut failed = None;
        for job in rows::list_running(store, launcher, MAX_JOBS).await? {
            if let Err(error) = self.check_job(&job).await {
                warn!(job = %job.id, error = &error as &dyn std::error::Error, "cannot check {}", job.id);
                failed = Some(error);
            }
        }
        rows::touch(store, launcher, self.launcher.kind()).await?;
        for id in rows::list_stale(store, LOST_AFTER, MAX_JOBS).await? {
            let mut tx = store.begin().await?;
            let message = "the server that started it no longer reports";
            rows::end(&mut tx, id, JobPhase::Lost, None, Some(message)).await?;
            tx.commit().await?;
        }
        failed.map_or(Ok(()), Err)
    }

    async fn check_job(&self, job: &Job) -> Result<(), ServiceError> {
        let is_configured = self.pool.warm.keys().any(|profile| profile.as_str() == job.profile);
        let is_spare = job.kind == JobKind::Warm && job.run.is_none() && !is_configured;
        let status = match is_spare {
            true => self.launcher.kill(job.attempt).await,
            false => self.launcher.status(job.attempt).await,
        };
        match status {
            Ok(ProcessStatus::Running) => Ok(()),
            Ok(ProcessStatus::Ended(end)) => self.record_exit(job, &end).await,
            Ok(ProcessStatus::Absent) => {
                let message = "the launcher no longer knows its process";
                self.end(job, JobPhase::Lost, None, Some(message)).await
            }
            Err(error) => {
                warn!(job = %job.id, error = &error as &dyn std::error::Error, "cannot read the status of {}", job.id);
                Ok(())
            }
        }
    }

    /// Records the exit of a runner and takes its runs back. The launcher has proved that the runner and all its child
    /// processes are dead, so the leases need not expire first.
    async fn record_exit(&self, job: &Job, end: &ExitReason) -> Result<(), ServiceError> {
        let loss = if self.launcher.is_closed() { RunnerLoss::Shutdown } else { RunnerLoss::Unexpected };
        if let Some(enrolment) = job.enrolment {
            let mut tx = self.deps.store.begin().await?;
            enrolments::revoke_by_id(&mut tx, enrolment).await?;
            tx.commit().await?;
            for (run, dead) in rows::list_leases(&self.deps.store, enrolment).await? {
                take_from_lost_runner(&self.deps, run, loss, |lease, _now| lease.runner == dead).await?;
            }
        }
        match end {
            ExitReason::Exited(0) => self.end(job, JobPhase::Succeeded, Some(0), None).await,
            ExitReason::Exited(code) => {
                let message = format!("its process exited with code {code}: see its log");
                self.end(job, JobPhase::Failed, Some(*code), Some(&message)).await
            }
            ExitReason::Killed(signal) => {
                let message = format!("its process was killed by signal {signal}");
                self.end(job, JobPhase::Failed, None, Some(&message)).await
            }
            ExitReason::Unknown => {
                let message = "its process ended while no server was watching";
                self.end(job, JobPhase::Lost, None, Some(message)).await
            }
        }
    }

    async fn end(
        &self,
        job: &Job,
        phase: JobPhase,
        code: Option<i32>,
        message: Option<&str>,
    ) -> Result<(), ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        rows::end(&mut tx, job.id, phase, code, message).await?;
        Ok(tx.commit().await?)
    }
}
