//! The storage in which a session's backend keeps its threads. It stands where the runner is; here is what is known of
//! it, and whether it is to be gone. The workspace is another thing and never goes with it.

use std::time::Duration;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{SessionId, TenantId};
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::Ending;
use guildhall_domain::runs::policy::{BackendProfile, Field, ProjectName, Refusal};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::session_storage as rows;
pub use guildhall_store::session_storage::{Storage, Summary};
use guildhall_store::sessions::{self, NewSession};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, Event, Of};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::runners::{Grant, Runners};
use crate::runs::{Locked, RunRefusal, Runs};
use crate::sessions::SessionView;

/// A session to make, without a run.
#[derive(Debug, Clone)]
pub struct SessionAsk {
    pub tenant: TenantId,
    pub project: ProjectName,
    pub profile: BackendProfile,
    /// How long its storage is kept; without it some time after its last use.
    pub expires_in: Option<Duration>,
}

impl Runs {
    /// Makes a session. Its storage begins with its first run, where that runs.
    pub async fn create_session(
        &self,
        caller: &Caller,
        ask: &SessionAsk,
        key: Option<&IdempotencyKey>,
    ) -> Result<SessionView, ServiceError> {
        caller.acting(ask.tenant)?.require(Right::RunsWrite)?;
        for (field, asked, allowed) in [
            (Field::ProjectId, ask.project.as_str(), &self.bounds().projects),
            (Field::BackendProfile, ask.profile.as_str(), &self.bounds().profiles),
        ] {
            if !allowed.allows(asked) {
                let (asked, allowed) = (asked.to_owned(), allowed.to_string());
                return Err(Refusal::NotAllowed { field, asked, allowed }.into());
            }
        }
        let (id, mut tx) = (SessionId::generate(), self.store.begin().await?);
        let expires_ms = ask.expires_in.map(|time| time.as_millis().to_string());
        let said = json!(["session", ask.tenant, ask.project.as_str(), ask.profile.as_str(), expires_ms]);
        if let Claim::Made(made) = idempotency::claim(&mut tx, caller, key, &said, id.as_uuid()).await? {
            tx.rollback().await?;
            return self.session(caller, SessionId::from_uuid(made), "").await;
        }
        let new = NewSession {
            id,
            tenant: ask.tenant,
            project: ask.project.as_str(),
            backend_profile: ask.profile.as_str(),
            created_by: caller.principal,
            expires_in: ask.expires_in,
        };
        sessions::insert(&mut tx, &new).await?;
        tx.commit().await?;
        self.session(caller, id, "").await
    }

    /// Shows what is known of a session's storage.
    pub async fn storage(&self, caller: &Caller, id: SessionId) -> Result<Storage, ServiceError> {
        self.load_session(caller, id, "", Right::RunsRead).await?;
        rows::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Gives a session's storage up: from here on nobody goes on with the session. Whoever owns the storage removes it.
    /// Doing it again changes nothing.
    pub async fn evict_storage(&self, caller: &Caller, id: SessionId) -> Result<Storage, ServiceError> {
        let session = self.load_session(caller, id, "", Right::RunsWrite).await?;
        let mut tx = self.store.begin().await?;
        if rows::evict(&mut tx, id).await? {
            let detail = json!({ "reason": "asked" });
            let noted = crate::access::tenants::event(
                caller,
                session.tenant,
                "session.storage_evicted",
                id.to_string(),
                detail,
            );
            audit::record(&mut tx, &noted).await?;
            tx.commit().await?;
        } else {
            let now = rows::load(&mut tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
            tx.rollback().await?;
            if now.kind != StorageKind::Evicted {
                return Err(ServiceError::from(RunRefusal::RunOpen(now.active_run)));
            }
        }
        rows::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Gives up what has expired. Returns whether it still had.
    pub(crate) async fn evict_expired(&self, id: SessionId, tenant: TenantId) -> Result<bool, ServiceError> {
        let mut tx = self.store.begin().await?;
        if !rows::evict(&mut tx, id).await? {
            tx.rollback().await?;
            return Ok(false);
        }
        let event = Event {
            of: Of::Tenant(tenant),
            action: "session.storage_evicted",
            actor: None,
            object: id.to_string(),
            detail: json!({ "reason": "expired" }),
        };
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(true)
    }
}

impl Runners {
    /// Writes what a runner says of the storage of its run's session.
    pub async fn refresh_storage(
        &self,
        grant: &RunGrant,
        session: SessionId,
        summary: &Summary<'_>,
    ) -> Result<Storage, ServiceError> {
        let mut locked = self.fenced(grant).await?;
        if locked.run.session != session {
            locked.tx.rollback().await?;
            return Err(ServiceError::NOT_FOUND);
        }
        let counts = rows::refresh(&mut locked.tx, session, summary).await?;
        let now = rows::load(&mut locked.tx, session).await?.ok_or(ServiceError::NOT_FOUND)?;
        locked.tx.commit().await?;
        if counts { Ok(now) } else { Err(ServiceError::from(RunRefusal::StorageEvicted)) }
    }

    pub(crate) async fn is_evicted(&self, locked: &mut Locked) -> Result<bool, ServiceError> {
        let storage = rows::load(&mut locked.tx, locked.run.session).await?;
        Ok(!locked.run.state.is_ended()
            && storage.is_some_and(|storage| storage.kind == StorageKind::Evicted))
    }

    /// Ends a run whose session has lost its storage, so that it does not go from runner to runner.
    pub(crate) async fn end_evicted(&self, mut locked: Locked) -> Result<Grant, ServiceError> {
        let refusal = RunRefusal::StorageEvicted;
        let failure = refusal.failure();
        locked.end(&Ending::failed(failure.kind, failure.message)).await?;
        locked.commit(&self.runs.journals).await?;
        Err(refusal.into())
    }
}
