//! Runner jobs: runners that are started for a run, for those who ask for them.
//!
//! A job is written down and the caller is answered; what starts it, and looks after it, is `reconcile/runner_jobs`.

pub mod reconcile;

use std::sync::Arc;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{AttemptId, CommandId, PlaceId, PrincipalId, RunId, RunnerJobId, SessionId};
use guildhall_domain::runners::job::{Facts, JobKind, Storage, admit};
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_domain::sessions::StorageKind;
use guildhall_launcher::{Launcher, NoProfile};
use guildhall_runtime::reconcile::Signal;
pub use guildhall_store::runner_jobs::Job;
use guildhall_store::runner_jobs::{self as rows, NewJob};
use guildhall_store::{Tx, session_storage};
use serde_json::json;

use crate::ServiceError;
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::runs::{Locked, RunRefusal, Runs};

/// Jobs in one list.
const JOBS_AT_MOST: u32 = 100;

/// Runner jobs, for those who ask for them.
#[derive(Debug, Clone)]
pub struct RunnerJobs {
    runs: Runs,
    /// None where this server starts no runners.
    starting: Option<Starting>,
}

/// What starts runners, and how to wake it.
#[derive(Debug, Clone)]
pub struct Starting {
    pub launcher: Arc<dyn Launcher>,
    pub signal: Signal,
}

impl RunnerJobs {
    #[must_use]
    pub fn new(runs: Runs, starting: Option<Starting>) -> Self {
        Self { runs, starting }
    }

    /// Returns the sort of launcher that starts runners here.
    #[must_use]
    pub fn launcher(&self) -> Option<&'static str> {
        self.starting.as_ref().map(|starting| starting.launcher.kind())
    }

    /// Says whether agents of the runners that are started here are kept from what is not theirs; none where none are.
    #[must_use]
    pub fn is_contained(&self) -> Option<bool> {
        self.starting.as_ref().map(|starting| starting.launcher.is_contained())
    }

    /// Asks for a runner for a run, and for one of its commands: the one that has waited longest where none is named.
    /// The same key gives the same job, and never a second process.
    pub async fn create(
        &self,
        caller: &Caller,
        run: RunId,
        command: Option<CommandId>,
        key: Option<&IdempotencyKey>,
    ) -> Result<Job, ServiceError> {
        self.runs.load(caller, run, Right::RunsWrite).await?;
        let Starting { launcher, signal } =
            self.starting.as_ref().ok_or(ServiceError::Run(RunRefusal::NoLauncher))?;
        let mut locked = Locked::begin(&self.runs.store, run).await?;
        let id = RunnerJobId::generate();
        let said = json!(["runner job", run, command]);
        let claim = idempotency::claim(&mut locked.tx, caller, key, &said, id.as_uuid()).await?;
        if let Claim::Made(made) = claim {
            locked.tx.rollback().await?;
            return self.find(RunnerJobId::from_uuid(made)).await;
        }
        let created_by = Some(caller.principal);
        let ask = Ask { id, kind: JobKind::Asked, command, place: None, created_by };
        write(&mut locked, &ask, launcher.as_ref()).await?;
        let detail = json!({ "run": run });
        let tenant = locked.run.tenant;
        let event =
            crate::access::tenants::event(caller, tenant, "runner_job.created", id.to_string(), detail);
        crate::access::audit::record(&mut locked.tx, &event).await?;
        locked.tx.commit().await?;
        signal.poke();
        self.find(id).await
    }

    /// Lists the jobs of a run, newest first; of one of its commands where that is named.
    pub async fn list(
        &self,
        caller: &Caller,
        run: RunId,
        command: Option<CommandId>,
    ) -> Result<Vec<Job>, ServiceError> {
        self.runs.load(caller, run, Right::RunsRead).await?;
        Ok(rows::of_run(&self.runs.store, run, command, JOBS_AT_MOST).await?)
    }

    pub async fn show(&self, caller: &Caller, run: RunId, id: RunnerJobId) -> Result<Job, ServiceError> {
        self.runs.load(caller, run, Right::RunsRead).await?;
        let found = rows::find(&self.runs.store, id).await?;
        found.filter(|found| found.run == Some(run)).ok_or(ServiceError::NOT_FOUND)
    }

    async fn find(&self, id: RunnerJobId) -> Result<Job, ServiceError> {
        rows::find(&self.runs.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}

/// A job to write for a run.
pub(crate) struct Ask {
    pub(crate) id: RunnerJobId,
    pub(crate) kind: JobKind,
    pub(crate) command: Option<CommandId>,
    /// The place that starts it; any of its sort without it.
    pub(crate) place: Option<PlaceId>,
    pub(crate) created_by: Option<PrincipalId>,
}

/// Writes a job for a run under the run's lock, unless there is a reason not to start one.
pub(crate) async fn write(
    locked: &mut Locked,
    ask: &Ask,
    launcher: &dyn Launcher,
) -> Result<(), ServiceError> {
    let open: Vec<_> = locked.open.iter().map(|command| (command.id, command.state.clone())).collect();
    let facts = Facts {
        run: &locked.run.state,
        lease: locked.run.lease.as_ref(),
        open: &open,
        job: rows::open_of_run(&mut locked.tx, locked.run.id).await?,
        storage: storage(&mut locked.tx, locked.run.session).await?,
    };
    let command = admit(&facts, ask.command)?;
    let name = &locked.run.backend_profile;
    let profile: BackendProfile = name.parse().map_err(|_| NoProfile(name.clone()))?;
    launcher.check(Some(locked.run.tenant), &profile)?;
    let new = NewJob {
        id: ask.id,
        attempt: AttemptId::generate(),
        kind: ask.kind,
        profile: name,
        run: Some(locked.run.id),
        command: Some(command),
        launcher: launcher.kind(),
        place: ask.place,
        created_by: ask.created_by,
    };
    Ok(rows::insert(&mut locked.tx, &new).await?)
}

/// Says whether a session's storage is there: no runner is started where it was given up.
async fn storage(tx: &mut Tx, session: SessionId) -> Result<Storage, ServiceError> {
    let found = session_storage::load(tx, session).await?;
    let is_evicted = found.is_some_and(|found| found.kind == StorageKind::Evicted);
    Ok(if is_evicted { Storage::Evicted } else { Storage::There })
}
