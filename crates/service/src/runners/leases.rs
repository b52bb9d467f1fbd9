//! Leases: the grant that a claim gives, its renewal and its release.

use std::time::Duration;

use guildhall_domain::access::project_setup::ProjectSetup;
use guildhall_domain::ids::RunnerId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::Run;
use guildhall_domain::runs::event;
use guildhall_domain::runs::policy::{AllowList, WorkspaceRef};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::{leases as rows, projects, runs, sessions};
use jiff::Timestamp;
use serde_json::json;

use super::error::RunnerError;
use super::lock_granted;
use super::tokens::{RunToken, RunnerTokens};
use crate::ServiceError;
use crate::deps::Deps;
use crate::runs::error::RunError;

/// What a claim or a renewal gives a runner.
#[derive(Debug, Clone)]
pub struct LeaseGrant {
    pub grant: RunGrant,
    pub token: RunToken,
    pub lease_expires_at: Timestamp,
    pub hold: Duration,
    pub run: Run,
    pub thread_id: Option<String>,
    /// Where the session keeps its threads, as far as the server knows.
    pub storage: StorageKind,
    /// The previous runner, where it was lost. Its running commands have ended.
    pub recovered_from: Option<RunnerId>,
    /// The directories that the tenant may use now, where the workspace of the run is a path on the runner's machine.
    pub directories: Option<AllowList>,
    /// How to prepare the workspace, if the run's project says so. Only in the grant of a claim.
    pub setup: Option<ProjectSetup>,
}

/// Builds lease grants.
#[derive(Debug, Clone)]
pub(super) struct Grants {
    deps: Deps,
    tokens: RunnerTokens,
}

impl Grants {
    pub(super) fn new(deps: Deps, tokens: RunnerTokens) -> Self {
        Self { deps, tokens }
    }

    /// Builds the grant of a claim.
    pub(super) async fn build_for_claim(
        &self,
        grant: RunGrant,
        lease_expires_at: Timestamp,
        run: Run,
        recovered_from: Option<RunnerId>,
    ) -> Result<LeaseGrant, ServiceError> {
        let setup = projects::setup_by_slug(&self.deps.store, run.tenant, &run.project).await?;
        Ok(LeaseGrant { setup, ..self.build(grant, lease_expires_at, run, recovered_from).await? })
    }

    async fn build(
        &self,
        grant: RunGrant,
        lease_expires_at: Timestamp,
        run: Run,
        recovered_from: Option<RunnerId>,
    ) -> Result<LeaseGrant, ServiceError> {
        let reader = sessions::Reader { principal: grant.principal, name: "" };
        let session = sessions::find(&self.deps.store, run.session, reader).await?;
        Ok(LeaseGrant {
            directories: self.directories(&run).await?,
            grant,
            token: self.tokens.mint(&grant)?,
            lease_expires_at,
            hold: self.deps.run_timeouts.hold,
            run,
            storage: session.as_ref().map_or(StorageKind::None, |session| session.storage),
            thread_id: session.and_then(|session| session.thread_id),
            recovered_from,
            setup: None,
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
    grants: Grants,
}

impl Leases {
    pub(super) fn new(deps: Deps, grants: Grants) -> Self {
        Self { deps, grants }
    }

    /// Renews a lease and issues the next run token. Needs no lock of the run: a run that has ended or was taken over has no
    /// lease of this epoch.
    pub async fn renew(&self, grant: &RunGrant) -> Result<LeaseGrant, ServiceError> {
        let expires_at = rows::renew(&self.deps.store, grant.run, grant.epoch).await?;
        let expires_at = expires_at.ok_or(RunError::LeaseLost)?;
        let run = runs::find(&self.deps.store, grant.run).await?.ok_or(ServiceError::NOT_FOUND)?;
        self.grants.build(*grant, expires_at, run, None).await
    }

    /// Releases a run, so that the next runner need not wait for the lease to expire. Refused while a command runs.
    pub async fn release(&self, grant: &RunGrant) -> Result<(), ServiceError> {
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
