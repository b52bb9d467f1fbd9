//! Leases: the grant that a claim gives, its renewal and its release.

use std::time::Duration;

use guildhall_domain::access::project_setup::ProjectSetup;
use guildhall_domain::ids::RunnerId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::Run;
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::event;
use guildhall_domain::runs::policy::{AllowList, WorkspaceRef};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::journal::StoredFolds;
use guildhall_store::loaded_runs::{self, LoadedRun};
use guildhall_store::{leases as rows, projects};
use jiff::Timestamp;
use serde_json::json;

use super::error::RunnerError;
use super::lock_granted;
use super::tokens::{RunToken, RunnerTokens, SignedRunToken};
use crate::ServiceError;
use crate::deps::Deps;
use crate::runs::error::RunError;
use crate::runs::{RunView, Runs};

/// What a claim or a renewal gives a runner.
#[derive(Debug, Clone)]
pub struct LeaseGrant {
    pub grant: RunGrant,
    pub token: RunToken,
    pub lease_expires_at: Timestamp,
    pub hold: Duration,
    pub run: RunView,
    pub thread_id: Option<String>,
    /// Where the session keeps its threads, as far as the server knows.
    pub storage: StorageKind,
    /// The previous runner, where it was lost. Its running commands have ended.
    pub recovered_from: Option<RunnerId>,
    /// The directories that the tenant may use now, where the workspace of the run is a path on the runner's machine.
    pub directories: Option<AllowList>,
    /// How to prepare the workspace, if the run's project says so. Only in the grant of a claim.
    pub setup: Option<ProjectSetup>,
    /// What the agent of the run is told. Only in the grant of a claim.
    pub instructions: Option<String>,
}

/// Builds lease grants.
#[derive(Debug, Clone)]
pub(super) struct LeaseGrantBuilder {
    deps: Deps,
    tokens: RunnerTokens,
    runs: Runs,
}

/// A run that a runner holds now, and what the runner must know of its session.
#[derive(Debug)]
pub(super) struct GrantedRun {
    pub(super) run: Run,
    pub(super) open: Vec<Command>,
    pub(super) folds: StoredFolds,
    pub(super) storage: StorageKind,
    pub(super) thread_id: Option<String>,
    pub(super) lease_expires_at: Timestamp,
    pub(super) recovered_from: Option<RunnerId>,
    /// The stored setup of its project.
    pub(super) setup: Option<String>,
    pub(super) instructions: Option<String>,
}

impl LeaseGrantBuilder {
    pub(super) fn new(deps: Deps, tokens: RunnerTokens, runs: Runs) -> Self {
        Self { deps, tokens, runs }
    }

    /// Builds the grant of a claim.
    pub(super) async fn build_for_claim(
        &self,
        grant: RunGrant,
        granted: GrantedRun,
    ) -> Result<LeaseGrant, ServiceError> {
        let setup = projects::parse_setup(granted.setup.as_deref())?;
        let instructions = granted.instructions.clone();
        Ok(LeaseGrant { setup, instructions, ..self.build(grant, granted).await? })
    }

    async fn build(&self, grant: RunGrant, granted: GrantedRun) -> Result<LeaseGrant, ServiceError> {
        Ok(LeaseGrant {
            directories: self.directories(&granted.run).await?,
            grant,
            token: self.tokens.mint(&grant)?,
            lease_expires_at: granted.lease_expires_at,
            hold: self.deps.run_timeouts.hold,
            run: self.runs.view(granted.run, granted.open, &granted.folds).await?,
            storage: granted.storage,
            thread_id: granted.thread_id,
            recovered_from: granted.recovered_from,
            setup: None,
            instructions: None,
        })
    }

    async fn directories(&self, run: &Run) -> Result<Option<AllowList>, ServiceError> {
        let workspace = serde_json::from_str::<WorkspaceRef>(&run.workspace_ref);
        if workspace.is_ok_and(|workspace| workspace.path().is_none()) {
            return Ok(None);
        }
        Ok(Some(self.deps.tenant_bounds(run.tenant).await?.directories))
    }
}

/// Renews and releases leases.
#[derive(Debug, Clone)]
pub struct Leases {
    deps: Deps,
    grants: LeaseGrantBuilder,
}

impl Leases {
    pub(super) fn new(deps: Deps, grants: LeaseGrantBuilder) -> Self {
        Self { deps, grants }
    }

    /// Renews a lease and issues the next run token. Needs no lock of the run: a run that has ended or was taken over has no
    /// lease of this epoch. The enrolment is checked in the same statement.
    pub async fn renew(&self, token: &SignedRunToken) -> Result<LeaseGrant, ServiceError> {
        let (store, grant) = (&self.deps.store, token.grant);
        let Some(lease_expires_at) = rows::renew(store, &grant).await? else {
            self.grants.tokens.verify_enrolment(token).await?;
            return Err(RunError::LeaseLost.into());
        };
        let loaded = loaded_runs::find(store, grant.run, None).await?.ok_or(ServiceError::NOT_FOUND)?;
        let LoadedRun { run, open, folds, storage, thread_id, .. } = loaded;
        let granted = GrantedRun {
            run,
            open,
            folds,
            storage,
            thread_id,
            lease_expires_at,
            recovered_from: None,
            setup: None,
            instructions: None,
        };
        self.grants.build(grant, granted).await
    }

    /// Releases a run, so that the next runner need not wait for the lease to expire. Refused while a command runs.
    pub async fn release(&self, token: &SignedRunToken) -> Result<(), ServiceError> {
        let grant = &token.grant;
        let mut locked = lock_granted(&self.deps.store, grant).await?;
        if locked.open.iter().any(|command| command.state.is_running()) {
            locked.tx.rollback().await?;
            return Err(RunnerError::StillRunning.into());
        }
        locked.release_lease().await?;
        let payload =
            json!({ "status": "pending", "reason": "released", "runnerId": grant.runner.to_string() });
        locked.append_event(event::RUN_STATUS, None, payload);
        // Usually there is no command, and nobody to wake for it.
        let waiting = (!locked.open.is_empty()).then(|| locked.run.clone());
        locked.commit(&self.deps).await?;
        if let Some(waiting) = waiting {
            self.deps.offers.announce(&waiting).await;
        }
        Ok(())
    }
}
