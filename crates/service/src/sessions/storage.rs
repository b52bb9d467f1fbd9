//! The storage in which a session's backend keeps its threads. The files are on the runner's side; the server keeps a
//! summary, and whether the storage was evicted. Workspaces are separate and are never evicted.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::{SessionId, TenantId};
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::TerminalOutcome;
use guildhall_domain::sessions::StorageKind;
use guildhall_domain::sessions::storage::SessionStorage;
use guildhall_domain::sessions::storage::StorageSummary;
use guildhall_store::Store;
use guildhall_store::session_storage as rows;
use serde_json::json;

use super::Sessions;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::deps::Deps;
use crate::run_steps::LockedRun;
use crate::runs::error::RunError;

/// Reads, updates and evicts session storage.
#[derive(Debug, Clone)]
pub struct Storages {
    sessions: Sessions,
}

impl Storages {
    pub(super) fn new(sessions: Sessions) -> Self {
        Self { sessions }
    }

    /// Returns the summary of a session's storage.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        id: SessionId,
    ) -> Result<SessionStorage, ServiceError> {
        self.sessions.load(caller, id, "").await?;
        self.find(id).await
    }

    /// Evicts a session's storage: the session cannot be continued from then on. Repeating it changes nothing.
    pub async fn evict(
        &self,
        caller: &Authorized<RunsWrite>,
        id: SessionId,
    ) -> Result<SessionStorage, ServiceError> {
        self.sessions.load(caller, id, "").await?;
        let mut tx = self.sessions.deps.store.begin().await?;
        if rows::evict(&mut tx, id).await? {
            let (action, detail) = ("session.storage_evicted", json!({ "reason": "asked" }));
            let event = AuditEvent::by_member(caller, action, id.to_string(), detail);
            audit::record(&mut tx, &event).await?;
            tx.commit().await?;
        } else {
            let now = rows::load(&mut tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
            tx.rollback().await?;
            if now.kind != StorageKind::Evicted {
                return Err(RunError::RunOpen(now.active_run).into());
            }
        }
        self.find(id).await
    }

    /// Stores the summary that a runner sends for the storage of its run's session.
    pub async fn refresh(
        &self,
        grant: &RunGrant,
        session: SessionId,
        summary: &StorageSummary<'_>,
    ) -> Result<SessionStorage, ServiceError> {
        let locked = LockedRun::fenced(&self.sessions.deps.store, grant).await?;
        let mut locked = locked.ok_or(RunError::LeaseLost)?;
        if locked.run.session != session {
            locked.tx.rollback().await?;
            return Err(ServiceError::NOT_FOUND);
        }
        let updated = rows::update(&mut locked.tx, session, summary).await?;
        locked.tx.commit().await?;
        Ok(updated.ok_or(RunError::StorageEvicted)?)
    }

    async fn find(&self, id: SessionId) -> Result<SessionStorage, ServiceError> {
        rows::find(&self.sessions.deps.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}

/// Evicts expired storage. Returns false when it is no longer expired.
pub(super) async fn evict_expired(
    store: &Store,
    id: SessionId,
    tenant: TenantId,
) -> Result<bool, ServiceError> {
    let mut tx = store.begin().await?;
    if !rows::evict(&mut tx, id).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    let event = AuditEvent {
        log: AuditLog::Tenant(tenant),
        action: "session.storage_evicted",
        actor: None,
        object: id.to_string(),
        detail: json!({ "reason": "expired" }),
    };
    audit::record(&mut tx, &event).await?;
    tx.commit().await?;
    Ok(true)
}

/// Returns whether an open run has lost the storage of its session.
pub(crate) fn is_evicted(locked: &LockedRun) -> bool {
    !locked.run.state.is_ended() && locked.storage == StorageKind::Evicted
}

/// Ends a run whose session has lost its storage, so that it is not offered to runner after runner. Returns the error
/// for the runner that claimed it.
pub(crate) async fn end_evicted(mut locked: LockedRun, deps: &Deps) -> Result<ServiceError, ServiceError> {
    let error = RunError::StorageEvicted;
    let failure = error.failure();
    locked.end(&TerminalOutcome::failed(failure.kind, failure.message)).await?;
    locked.commit(deps).await?;
    Ok(error.into())
}
