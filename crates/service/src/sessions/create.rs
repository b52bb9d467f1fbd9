//! Creates a session without a run.

use std::time::Duration;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::ids::SessionId;
use guildhall_domain::runs::policy::{BackendProfile, PolicyViolation, ProjectName, RequestField};
use guildhall_domain::sessions::Session;
use guildhall_store::sessions::{self, NewSession};
use serde_json::json;

use super::Sessions;
use crate::ServiceError;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// A session to create.
#[derive(Debug, Clone)]
pub struct CreateSession {
    pub project: ProjectName,
    pub profile: BackendProfile,
    /// How long its storage is kept. Without it, the configured time after its last use.
    pub expires_in: Option<Duration>,
}

impl Sessions {
    /// Creates a session. Its storage is created by its first run.
    pub async fn create(
        &self,
        caller: &Authorized<RunsWrite>,
        request: &CreateSession,
        key: Option<&IdempotencyKey>,
    ) -> Result<Session, ServiceError> {
        let tenant = caller.tenant();
        let bounds = self.deps.tenant_bounds(tenant).await?;
        for (field, requested, allowed) in [
            (RequestField::ProjectId, request.project.as_str(), &bounds.projects),
            (RequestField::BackendProfile, request.profile.as_str(), &bounds.profiles),
        ] {
            if !allowed.allows(requested) {
                let (requested, allowed) = (requested.to_owned(), allowed.to_string());
                return Err(PolicyViolation::NotAllowed { field, requested, allowed }.into());
            }
        }
        let (id, mut tx) = (SessionId::generate(), self.deps.store.begin().await?);
        let expires_ms = request.expires_in.map(|time| time.as_millis().to_string());
        let body = json!(["session", tenant, request.project.as_str(), request.profile.as_str(), expires_ms]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            tx.rollback().await?;
            return self.load(caller, SessionId::from_uuid(created), "").await;
        }
        let new = NewSession {
            id,
            tenant,
            project: request.project.as_str(),
            backend_profile: request.profile.as_str(),
            created_by: caller.principal,
            expires_in: request.expires_in,
        };
        sessions::insert(&mut tx, &new).await?;
        tx.commit().await?;
        self.load(caller, id, "").await
    }
}
