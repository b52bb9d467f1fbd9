//! Looking after what was started: its phase comes back into the row, and its death to the run that it held.

use std::time::Duration;

use guildhall_domain::runners::job::{JobKind, JobPhase};
use guildhall_launcher::{End, Seen};
use guildhall_store::enrolments;
use guildhall_store::runner_jobs::{self as rows, Job};
use tracing::warn;

use super::TendRunnerJobs;
use crate::ServiceError;

/// Jobs of one place that a round looks at: more than may run there.
const AT_MOST: u32 = 1000;

/// A job that nobody has seen for this long is lost.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(300);

impl TendRunnerJobs {
    pub(super) async fn tend(&self) -> Result<(), ServiceError> {
        let (store, place) = (&self.runs.store, self.launcher.place());
        let mut failed = None;
        for job in rows::open_at(store, place, AT_MOST).await? {
            if let Err(error) = self.look_at(&job).await {
                warn!(job = %job.id, error = &error as &dyn std::error::Error, "cannot look after {}", job.id);
                failed = Some(error);
            }
        }
        rows::seen(store, place, self.launcher.kind()).await?;
        for id in rows::forgotten(store, FORGOTTEN_AFTER, AT_MOST).await? {
            let mut tx = store.begin().await?;
            let words = "the place where it ran is not heard of any more";
            rows::end(&mut tx, id, JobPhase::Lost, None, Some(words)).await?;
            tx.commit().await?;
        }
        failed.map_or(Ok(()), Err)
    }

    async fn look_at(&self, job: &Job) -> Result<(), ServiceError> {
        let is_wanted = self.pool.warm.keys().any(|profile| profile.as_str() == job.profile);
        let is_spare = job.kind == JobKind::Warm && job.run.is_none() && !is_wanted;
        let seen = match is_spare {
            true => self.launcher.end(job.attempt).await,
            false => self.launcher.look(job.attempt).await,
        };
        match seen {
            Ok(Seen::Running) => Ok(()),
            Ok(Seen::Ended(end)) => self.bury(job, &end).await,
            Ok(Seen::Absent) => {
                let words = "nothing is known of its process any more";
                self.end(job, JobPhase::Lost, None, Some(words)).await
            }
            Err(error) => {
                warn!(job = %job.id, error = &error as &dyn std::error::Error, "cannot look at {}", job.id);
                Ok(())
            }
        }
    }

    /// Takes from a dead runner what it held. The launcher's word that it is dead, with all that it started, is a proof:
    /// nobody has to wait until the lease is over.
    async fn bury(&self, job: &Job, end: &End) -> Result<(), ServiceError> {
        if let Some(enrolment) = job.enrolment {
            let mut tx = self.runs.store.begin().await?;
            enrolments::end(&mut tx, enrolment).await?;
            tx.commit().await?;
            for (run, dead) in rows::held(&self.runs.store, enrolment).await? {
                self.runs.take_from_lost(run, |lease, _now| lease.runner == dead).await?;
            }
        }
        match end {
            End::Exited(0) => self.end(job, JobPhase::Succeeded, Some(0), None).await,
            End::Exited(code) => {
                let words = format!("its process ended with {code}; its log says why");
                self.end(job, JobPhase::Failed, Some(*code), Some(&words)).await
            }
            End::Killed(signal) => {
                let words = format!("its process was killed by signal {signal}");
                self.end(job, JobPhase::Failed, None, Some(&words)).await
            }
            End::Unseen => {
                let words = "its process has ended while no server saw how";
                self.end(job, JobPhase::Lost, None, Some(words)).await
            }
        }
    }

    async fn end(
        &self,
        job: &Job,
        phase: JobPhase,
        code: Option<i32>,
        words: Option<&str>,
    ) -> Result<(), ServiceError> {
        let mut tx = self.runs.store.begin().await?;
        rows::end(&mut tx, job.id, phase, code, words).await?;
        Ok(tx.commit().await?)
    }
}
