//! Runner jobs: runners that this server starts for a run.
//!
//! Creating a job inserts a row; [`reconcile`] starts it and watches it.

pub mod reconcile;

use std::sync::Arc;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::{AttemptId, CommandId, LauncherId, PrincipalId, RunId, RunnerJobId, SessionId};
use guildhall_domain::runners::job::Job;
use guildhall_domain::runners::job::{JobInput, JobKind, StorageState, is_served, select_command};
use guildhall_domain::runs::command::CommandState;
use guildhall_domain::sessions::StorageKind;
use guildhall_launcher::Launcher;
use guildhall_runtime::reconcile::Signal;
use guildhall_store::runner_jobs::{self as rows, NewJob};
use guildhall_store::{Tx, session_storage};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::run_steps::LockedRun;
use crate::run_steps::launcher_files::LauncherFiles;
use crate::runners::error::RunnerError;
use crate::runs::Runs;

/// Jobs in one list.
const MAX_LISTED_JOBS: u32 = 100;

/// Creates and reads runner jobs.
#[derive(Debug, Clone)]
pub struct RunnerJobs {
    runs: Runs,
    /// None where this server starts no runners.
    starter: Option<JobStarter>,
}

/// Starts jobs: the launcher, and the signal that wakes its reconciler.
#[derive(Debug, Clone)]
pub struct JobStarter {
    pub launcher: Arc<dyn Launcher>,
    pub signal: Signal,
}

impl RunnerJobs {
    pub(super) fn new(runs: Runs, starter: Option<JobStarter>) -> Self {
        Self { runs, starter }
    }

    /// Returns the kind of launcher that starts runners here.
    #[must_use]
    pub fn launcher(&self) -> Option<&'static str> {
        self.starter.as_ref().map(|starter| starter.launcher.kind())
    }

    /// Returns whether agents of the started runners are contained; none where this server starts no runners.
    #[must_use]
    pub fn is_contained(&self) -> Option<bool> {
        self.starter.as_ref().map(|starter| starter.launcher.is_contained())
    }

    /// Creates a runner job for a command of a run: the named one, or the one that has waited longest. The same key
    /// returns the same job, and never starts a second process. A job that was started automatically and serves the
    /// run is returned instead of a new one.
    pub async fn create(
        &self,
        caller: &Authorized<RunsWrite>,
        run: RunId,
        command: Option<CommandId>,
        key: Option<&IdempotencyKey>,
    ) -> Result<Job, ServiceError> {
        let loaded = self.runs.load(caller, run).await?;
        let JobStarter { launcher, signal } = self.starter.as_ref().ok_or(RunnerError::NoLauncher)?;
        let (tenant, profile, session) = (loaded.tenant, loaded.backend_profile, loaded.session);
        let files = LauncherFiles::find(launcher, tenant, profile, session).await?;
        let mut locked = LockedRun::begin(&self.runs.deps.store, run).await?;
        let serving = Self::find_serving(&mut locked, command).await?;
        let id = serving.as_ref().map_or_else(RunnerJobId::generate, |job| job.id);
        let body = json!(["runner job", run, command]);
        let claim = idempotency::claim(&mut locked.tx, caller, key, &body, id.as_uuid()).await?;
        if let Claim::Created(created) = claim {
            locked.tx.rollback().await?;
            return self.find(RunnerJobId::from_uuid(created)).await;
        }
        if let Some(job) = serving {
            locked.tx.commit().await?;
            return Ok(job);
        }
        let created_by = Some(caller.principal);
        let request = JobRequest { id, kind: JobKind::Requested, command, launcher_id: None, created_by };
        insert_job(&mut locked, &request, launcher.as_ref(), Some(files)).await?;
        let detail = json!({ "run": run });
        let event = AuditEvent::by_member(caller, "runner_job.created", id.to_string(), detail);
        audit::record(&mut locked.tx, &event).await?;
        locked.tx.commit().await?;
        signal.notify();
        self.find(id).await
    }

    /// Lists the jobs of a run, or of one of its commands, newest first.
    pub async fn list(
        &self,
        caller: &Authorized<RunsRead>,
        run: RunId,
        command: Option<CommandId>,
    ) -> Result<Vec<Job>, ServiceError> {
        self.runs.load(caller, run).await?;
        Ok(rows::list_by_run(&self.runs.deps.store, run, command, MAX_LISTED_JOBS).await?)
    }

    /// Returns a job of a run.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        run: RunId,
        id: RunnerJobId,
    ) -> Result<Job, ServiceError> {
        self.runs.load(caller, run).await?;
        let found = rows::find(&self.runs.deps.store, id).await?;
        found.filter(|found| found.run == Some(run)).ok_or(ServiceError::NOT_FOUND)
    }

    /// Finds the automatically started job that serves a locked run.
    async fn find_serving(
        locked: &mut LockedRun,
        command: Option<CommandId>,
    ) -> Result<Option<Job>, ServiceError> {
        let jobs = rows::list_by_locked_run(&mut locked.tx, locked.run.id, MAX_LISTED_JOBS).await?;
        let job = jobs.into_iter().find(|job| !job.phase.is_ended() && job.kind != JobKind::Requested);
        let Some(job) = job else { return Ok(None) };
        let storage = storage(&mut locked.tx, locked.run.session, None).await?;
        let open = open_commands(locked);
        let lease = locked.run.lease.as_ref();
        let input = JobInput { run: &locked.run.state, lease, open: &open, job: Some(job.id), storage };
        Ok(is_served(&input, command).then_some(job))
    }

    async fn find(&self, id: RunnerJobId) -> Result<Job, ServiceError> {
        rows::find(&self.runs.deps.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}

/// A job to insert for a run.
pub(crate) struct JobRequest {
    pub(crate) id: RunnerJobId,
    pub(crate) kind: JobKind,
    pub(crate) command: Option<CommandId>,
    /// The launcher that starts it; `None` means any launcher of its kind.
    pub(crate) launcher_id: Option<LauncherId>,
    pub(crate) created_by: Option<PrincipalId>,
}

/// Inserts a job for a locked run, if the run needs a runner. Without `files`, nobody waits for a refusal: the runner looks, and fails
/// the command.
pub(crate) async fn insert_job(
    locked: &mut LockedRun,
    request: &JobRequest,
    launcher: &dyn Launcher,
    files: Option<LauncherFiles>,
) -> Result<(), ServiceError> {
    let open = open_commands(locked);
    let storage = storage(&mut locked.tx, locked.run.session, files.as_ref()).await?;
    let facts = JobInput {
        run: &locked.run.state,
        lease: locked.run.lease.as_ref(),
        open: &open,
        job: rows::find_open_by_run(&mut locked.tx, locked.run.id).await?,
        storage,
    };
    let command = select_command(&facts, request.command)?;
    files.map_or(Ok(()), |files| files.profile)?;
    let name = &locked.run.backend_profile;
    let new = NewJob {
        id: request.id,
        attempt: AttemptId::generate(),
        kind: request.kind,
        profile: name,
        run: Some(locked.run.id),
        command: Some(command),
        launcher: launcher.kind(),
        launcher_id: request.launcher_id,
        created_by: request.created_by,
    };
    Ok(rows::insert(&mut locked.tx, &new).await?)
}

fn open_commands(locked: &LockedRun) -> Vec<(CommandId, CommandState)> {
    locked.open.iter().map(|command| (command.id, command.state.clone())).collect()
}

/// Returns whether a session's storage can be used: it was not evicted and, if files of a launcher are known, its runners find what
/// an earlier runner reported.
async fn storage(
    tx: &mut Tx,
    session: SessionId,
    files: Option<&LauncherFiles>,
) -> Result<StorageState, ServiceError> {
    let is_missing = || files.is_some_and(|files| !files.has_storage);
    Ok(match session_storage::load(tx, session).await?.map(|found| found.kind) {
        Some(StorageKind::Evicted) => StorageState::Evicted,
        Some(StorageKind::Directory) if is_missing() => StorageState::Missing,
        Some(StorageKind::None | StorageKind::Directory) | None => StorageState::Available,
    })
}
