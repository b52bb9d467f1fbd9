//! Creates a session without a run.

use std::time::Duration;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Permission;
use guildhall_domain::ids::{SessionId, TenantId};
use guildhall_domain::runs::policy::{BackendProfile, PolicyViolation, ProjectName, RequestField};
use guildhall_store::sessions::{self, NewSession};
use serde_json::json;

use super::{SessionView, Sessions};
use crate::ServiceError;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// A session to create.
#[derive(Debug, Clone)]
pub struct CreateSession {
    pub tenant: TenantId,
    pub project: ProjectName,
    pub profile: BackendProfile,
    /// How long its storage is kept. Without it, the configured time after its last use.
    pub expires_in: Option<Duration>,
}

impl Sessions {
    /// Creates a session. Its storage is created by its first run.
    pub async fn create(
        &self,
        caller: &Caller,
        request: &CreateSession,
        key: Option<&IdempotencyKey>,
    ) -> Result<SessionView, ServiceError> {
        caller.in_tenant(request.tenant)?.require(Permission::RunsWrite)?;
        let bounds = &self.deps.run_bounds;
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
        let body = json!([
            "session",
            request.tenant,
            request.project.as_str(),
            request.profile.as_str(),
            expires_ms
        ]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            tx.rollback().await?;
            return self.get(caller, SessionId::from_uuid(created), "").await;
        }
        let new = NewSession {
            id,
            tenant: request.tenant,
            project: request.project.as_str(),
            backend_profile: request.profile.as_str(),
            created_by: caller.principal,
            expires_in: request.expires_in,
        };
        sessions::insert(&mut tx, &new).await?;
        tx.commit().await?;
        self.get(caller, id, "").await
    }
}
