//! Invitations: created by members who manage members, accepted once by whoever has the secret.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::invitation::InvitationSummary;
use guildhall_domain::access::invitation::{self, InvitationError};
use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::access::role::rights::MembersManage;
use guildhall_domain::access::role::{Role, add_member};
use guildhall_domain::ids::{InviteId, PrincipalId, TenantId};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind, SecretHash};
use guildhall_runtime::Clock;
use guildhall_store::invitations::{self, NewInvitation};
use guildhall_store::{Store, Tx, memberships};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::secrets::matches;
use crate::access::timestamps::saturating_add;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// A created invitation. The secret is returned once; an idempotent replay has none.
#[derive(Debug, Clone)]
pub struct CreatedInvitation {
    pub id: InviteId,
    pub secret: Option<SecretString>,
}

/// The membership that an accepted invitation created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMembership {
    pub tenant: TenantId,
    pub role: Role,
}

/// A parsed invitation secret. It is checked when the invitation is accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PresentedInvitation {
    pub(crate) id: InviteId,
    pub(crate) hash: SecretHash,
}

impl PresentedInvitation {
    pub(crate) fn parse(secret: &SecretString) -> Result<Self, InvitationError> {
        let opaque = OpaqueSecret::parse(secret.expose_secret()).map_err(|_| InvitationError::Invalid)?;
        match opaque.kind {
            OpaqueSecretKind::Invite => Ok(Self { id: InviteId::from_uuid(opaque.id), hash: opaque.hash }),
            OpaqueSecretKind::ServiceKey
            | OpaqueSecretKind::Refresh
            | OpaqueSecretKind::Enrolment
            | OpaqueSecretKind::BrowserSession
            | OpaqueSecretKind::SignIn
            | OpaqueSecretKind::Handoff => Err(InvitationError::Invalid),
        }
    }
}

/// Creates, lists, revokes and accepts invitations.
#[derive(Debug, Clone)]
pub struct Invitations {
    store: Store,
    clock: Clock,
}

impl Invitations {
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Creates an invitation to a role in a tenant, not above the inviter's. The note is only a label.
    pub async fn create(
        &self,
        caller: &Authorized<MembersManage>,
        role: Role,
        note: Option<&str>,
        key: Option<&IdempotencyKey>,
    ) -> Result<CreatedInvitation, ServiceError> {
        add_member(caller.role().ok_or(ServiceError::NOT_FOUND)?, role)?;
        let tenant = caller.tenant();
        let mut tx = self.store.begin().await?;
        let id = InviteId::generate();
        let body = json!(["invitation", tenant, role.as_str(), note]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            return Ok(CreatedInvitation { id: InviteId::from_uuid(created), secret: None });
        }
        let (secret, hash) = OpaqueSecret::generate(OpaqueSecretKind::Invite, id.as_uuid());
        let expires_at = saturating_add(self.clock.now(), invitation::LIFETIME);
        let invited_by = caller.principal;
        let new = NewInvitation { id, tenant, role, note, hash: hash.as_bytes(), invited_by, expires_at };
        invitations::insert(&mut tx, &new).await?;
        let detail = json!({ "role": role.as_str(), "note": note });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "invitation.created", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        Ok(CreatedInvitation { id, secret: Some(secret) })
    }

    pub async fn list(
        &self,
        caller: &Authorized<MembersManage>,
    ) -> Result<Vec<InvitationSummary>, ServiceError> {
        Ok(invitations::list(&self.store, caller.tenant()).await?)
    }

    /// Revokes an invitation. An accepted or revoked one stays as it is.
    pub async fn revoke(&self, caller: &Authorized<MembersManage>, id: InviteId) -> Result<(), ServiceError> {
        let tenant = caller.tenant();
        let mut tx = self.store.begin().await?;
        if invitations::revoke(&mut tx, tenant, id).await? {
            let event = AuditEvent::by_member(caller, "invitation.revoked", id.to_string(), json!({}));
            audit::record(&mut tx, &event).await?;
        } else if !invitations::exists(&mut tx, tenant, id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok(tx.commit().await?)
    }

    /// Accepts an invitation for the caller, who must be a person.
    pub async fn accept(
        &self,
        caller: &Caller,
        secret: &SecretString,
    ) -> Result<NewMembership, ServiceError> {
        if caller.kind != TokenKind::User {
            return Err(InvitationError::Invalid.into());
        }
        let presented = PresentedInvitation::parse(secret)?;
        let mut tx = self.store.begin().await?;
        let membership = accept_invitation(&mut tx, presented, caller.principal, self.clock.now()).await?;
        tx.commit().await?;
        Ok(membership)
    }
}

/// Accepts an invitation for a principal, in the transaction that found or created the principal.
pub(crate) async fn accept_invitation(
    tx: &mut Tx,
    presented: PresentedInvitation,
    principal: PrincipalId,
    now: Timestamp,
) -> Result<NewMembership, ServiceError> {
    let PresentedInvitation { id, hash } = presented;
    let found = invitations::lock(tx, id).await?;
    let found = found.filter(|found| matches(&found.hash, &hash)).ok_or(InvitationError::Invalid)?;
    let tenant = found.tenant;
    let inviter = memberships::lock(tx, tenant, found.invited_by).await?;
    let current = memberships::lock(tx, tenant, principal).await?;
    let role = invitation::accept(&found.invitation, inviter, current, now)?;
    memberships::upsert(tx, tenant, principal, role).await?;
    invitations::accept(tx, id, principal).await?;
    let event = AuditEvent {
        log: AuditLog::Tenant(tenant),
        action: "invitation.accepted",
        actor: Some(principal),
        object: id.to_string(),
        detail: json!({ "from": current.map(Role::as_str), "to": role.as_str() }),
    };
    audit::record(tx, &event).await?;
    Ok(NewMembership { tenant, role })
}
