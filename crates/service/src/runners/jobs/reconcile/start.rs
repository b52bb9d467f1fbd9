//! Starting what is written down.

use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{CommandId, RunId, TenantId};
use guildhall_domain::runners::job::JobPhase;
use guildhall_domain::runs::RunState;
use guildhall_domain::runs::command::CommandState;
use guildhall_launcher::{Launch, LaunchError, Seen};
use guildhall_store::runner_jobs::{self as rows, Taken};
use guildhall_store::{commands, enrolments, runs};
use secrecy::SecretString;
use tracing::warn;

use super::TendRunnerJobs;
use crate::ServiceError;
use crate::runners::enrolments::{ForLaunch, issue};

/// Jobs that a round starts; the next takes the rest.
const AT_ONCE: u32 = 20;

/// A job that could not be started so often has failed.
const TRIES_AT_MOST: i32 = 3;

/// How long a runner that is started for a run may take to come for it.
const STARTS_WITHIN: Duration = Duration::from_secs(600);

/// The token of a warm runner holds this much longer than it waits.
const WARM_MARGIN: Duration = Duration::from_secs(600);

impl TendRunnerJobs {
    /// Takes jobs and starts them, as far as there is room.
    pub(super) async fn start(&self) -> Result<(), ServiceError> {
        let place = self.launcher.place();
        let mut tx = self.runs.store.begin().await?;
        rows::lock_place(&mut tx, place).await?;
        let census = rows::census(&mut tx, place, "").await?;
        let room = self.pool.at_most.saturating_sub(census.begun);
        // What a killed server began with is counted already, and taken again.
        let taken = rows::take(&mut tx, place, self.launcher.kind(), room.min(AT_ONCE)).await?;
        tx.commit().await?;
        let mut failed = None;
        for job in taken {
            if let Err(error) = self.start_one(&job).await {
                warn!(job = %job.id, error = &error as &dyn std::error::Error, "cannot start {}", job.id);
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn start_one(&self, job: &Taken) -> Result<(), ServiceError> {
        let tenant = match job.run {
            None => None,
            Some(run) => match self.still_waits(run, job.command).await? {
                Some(tenant) => Some(tenant),
                None => return self.fail(job, "it was not needed any more: nothing was started").await,
            },
        };
        // A server that was killed may have started it. What that runner was given must stay valid.
        match self.launcher.look(job.attempt).await {
            Ok(Seen::Absent) => {}
            Ok(Seen::Running | Seen::Ended(_)) => {
                return Ok(rows::set_running(&self.runs.store, job.id).await?);
            }
            Err(error) => return self.not_started(job, &error).await,
        }
        let Ok(profile) = job.profile.parse() else {
            return self.fail(job, "its profile is not one").await;
        };
        let enrolment = self.enrol(job, tenant).await?;
        let launch = Launch { attempt: job.attempt, tenant, profile, run: job.run, enrolment };
        match self.launcher.launch(launch).await {
            Ok(()) => Ok(rows::set_running(&self.runs.store, job.id).await?),
            Err(error) => self.not_started(job, &error).await,
        }
    }

    /// Returns the tenant of a run that still needs a runner. A command that was cancelled while it waited needs none.
    async fn still_waits(
        &self,
        run: RunId,
        command: Option<CommandId>,
    ) -> Result<Option<TenantId>, ServiceError> {
        let store = &self.runs.store;
        let Some(found) = runs::find(store, run).await? else { return Ok(None) };
        let Some(command) = command else { return Ok(None) };
        let pending = commands::find(store, command).await?;
        let pending = pending.is_some_and(|command| command.state == CommandState::Pending);
        let waits = found.state == RunState::Open && found.lease.is_none() && pending;
        Ok(waits.then_some(found.tenant))
    }

    /// Makes what the runner registers with: for its run alone, or for the first that it claims.
    async fn enrol(&self, job: &Taken, tenant: Option<TenantId>) -> Result<SecretString, ServiceError> {
        let name = format!("runner job {}", job.id);
        let lives_for = match job.run {
            Some(_) => STARTS_WITHIN,
            None => self.pool.warm_for.saturating_add(WARM_MARGIN),
        };
        // A profile of one letter is no slug. Its enrolment is for one run, so it needs no other bound.
        let profile: Option<Slug> = job.profile.parse().ok();
        let wanted =
            ForLaunch { name: &name, run: tenant.zip(job.run), profile: profile.as_ref(), lives_for };
        let mut tx = self.runs.store.begin().await?;
        if let Some(earlier) = job.enrolment {
            enrolments::end(&mut tx, earlier).await?;
        }
        let (id, secret) = issue(&mut tx, &wanted).await?;
        rows::set_enrolment(&mut tx, job.id, id).await?;
        tx.commit().await?;
        Ok(secret)
    }

    /// Leaves a job for another try, or gives it up.
    async fn not_started(&self, job: &Taken, error: &LaunchError) -> Result<(), ServiceError> {
        warn!(job = %job.id, error = error as &dyn std::error::Error, "{} could not be started", job.id);
        match error {
            LaunchError::Profile(refusal) => self.fail(job, &refusal.to_string()).await,
            LaunchError::Io { .. } | LaunchError::Secret(_) if job.tries >= TRIES_AT_MOST => {
                // What exactly failed is the operator's to know: it may name a path.
                self.fail(job, "its process could not be started: the server's log says why").await
            }
            LaunchError::Io { .. } | LaunchError::Secret(_) | LaunchError::Busy | LaunchError::Closed => {
                Ok(())
            }
        }
    }

    async fn fail(&self, job: &Taken, words: &str) -> Result<(), ServiceError> {
        let mut tx = self.runs.store.begin().await?;
        rows::end(&mut tx, job.id, JobPhase::Failed, None, Some(words)).await?;
        if let Some(enrolment) = job.enrolment {
            enrolments::end(&mut tx, enrolment).await?;
        }
        Ok(tx.commit().await?)
    }
}
