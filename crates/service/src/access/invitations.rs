//! Invitations: made by those who manage members, accepted once by whoever holds the secret.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::invitation::{self, InvitationRefusal};
use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::access::role::{Right, Role, add_member};
use guildhall_domain::ids::{InviteId, PrincipalId, TenantId};
use guildhall_identity::opaque::{Opaque, OpaqueKind, SecretHash};
use guildhall_runtime::Clock;
use guildhall_store::invitations::{self, ListedInvitation, NewInvitation};
use guildhall_store::{Store, Tx, memberships};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, Event, Of};
use crate::access::auth::{add, is_same};
use crate::access::tenants::event;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// An invitation that was made; the secret is shown once. A replay has none to show.
#[derive(Debug, Clone)]
pub struct MadeInvitation {
    pub id: InviteId,
    pub secret: Option<SecretString>,
}

/// What an invitation gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    pub tenant: TenantId,
    pub role: Role,
}

/// A presented invitation, taken apart. Whether it is valid shows only when it is accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Presented {
    pub(crate) id: InviteId,
    pub(crate) hash: SecretHash,
}

impl Presented {
    pub(crate) fn parse(secret: &SecretString) -> Result<Self, InvitationRefusal> {
        let opaque = Opaque::parse(secret.expose_secret()).map_err(|_| InvitationRefusal::Invalid)?;
        match opaque.kind {
            OpaqueKind::Invite => Ok(Self { id: InviteId::from_uuid(opaque.id), hash: opaque.hash }),
            OpaqueKind::ServiceKey
            | OpaqueKind::Refresh
            | OpaqueKind::Enrolment
            | OpaqueKind::BrowserSession
            | OpaqueKind::SignIn
            | OpaqueKind::Handoff => Err(InvitationRefusal::Invalid),
        }
    }
}

/// Makes, lists, takes back and accepts invitations.
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

    /// Offers a role in a tenant, not above the inviter's. The note tells invitations apart, and nothing else.
    pub async fn create(
        &self,
        caller: &Caller,
        tenant: TenantId,
        role: Role,
        note: Option<&str>,
        key: Option<&IdempotencyKey>,
    ) -> Result<MadeInvitation, ServiceError> {
        let acting = caller.acting(tenant)?;
        acting.require(Right::MembersManage)?;
        add_member(acting.role, role)?;
        let mut tx = self.store.begin().await?;
        let id = InviteId::generate();
        let said = json!(["invitation", tenant, role.as_str(), note]);
        if let Claim::Made(made) = idempotency::claim(&mut tx, caller, key, &said, id.as_uuid()).await? {
            return Ok(MadeInvitation { id: InviteId::from_uuid(made), secret: None });
        }
        let (secret, hash) = Opaque::generate(OpaqueKind::Invite, id.as_uuid());
        let expires_at = add(self.clock.now(), invitation::LIFETIME);
        let invited_by = caller.principal;
        let new = NewInvitation { id, tenant, role, note, hash: hash.as_bytes(), invited_by, expires_at };
        invitations::insert(&mut tx, &new).await?;
        let detail = json!({ "role": role.as_str(), "note": note });
        audit::record(&mut tx, &event(caller, tenant, "invitation.created", id.to_string(), detail)).await?;
        tx.commit().await?;
        Ok(MadeInvitation { id, secret: Some(secret) })
    }

    pub async fn list(
        &self,
        caller: &Caller,
        tenant: TenantId,
    ) -> Result<Vec<ListedInvitation>, ServiceError> {
        caller.acting(tenant)?.require(Right::MembersManage)?;
        Ok(invitations::list(&self.store, tenant).await?)
    }

    /// Takes an invitation back. One that was accepted or taken back before stays as it is.
    pub async fn revoke(&self, caller: &Caller, tenant: TenantId, id: InviteId) -> Result<(), ServiceError> {
        caller.acting(tenant)?.require(Right::MembersManage)?;
        let mut tx = self.store.begin().await?;
        if invitations::revoke(&mut tx, tenant, id).await? {
            let event = event(caller, tenant, "invitation.revoked", id.to_string(), json!({}));
            audit::record(&mut tx, &event).await?;
        } else if !invitations::exists(&mut tx, tenant, id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok(tx.commit().await?)
    }

    /// Accepts an invitation for the caller, who is a person.
    pub async fn accept(&self, caller: &Caller, secret: &SecretString) -> Result<Joined, ServiceError> {
        if caller.kind != TokenKind::User {
            return Err(InvitationRefusal::Invalid.into());
        }
        let presented = Presented::parse(secret)?;
        let mut tx = self.store.begin().await?;
        let joined = join(&mut tx, presented, caller.principal, self.clock.now()).await?;
        tx.commit().await?;
        Ok(joined)
    }
}

/// Accepts an invitation for a principal, within the transaction that makes or finds them.
pub(crate) async fn join(
    tx: &mut Tx,
    presented: Presented,
    principal: PrincipalId,
    now: Timestamp,
) -> Result<Joined, ServiceError> {
    let Presented { id, hash } = presented;
    let found = invitations::lock(tx, id).await?;
    let found = found.filter(|found| is_same(&found.hash, &hash)).ok_or(InvitationRefusal::Invalid)?;
    let tenant = found.tenant;
    let inviter = memberships::lock(tx, tenant, found.invited_by).await?;
    let current = memberships::lock(tx, tenant, principal).await?;
    let role = invitation::accept(&found.invitation, inviter, current, now)?;
    memberships::set(tx, tenant, principal, role).await?;
    invitations::accept(tx, id, principal).await?;
    let event = Event {
        of: Of::Tenant(tenant),
        action: "invitation.accepted",
        actor: Some(principal),
        object: id.to_string(),
        detail: json!({ "from": current.map(Role::as_str), "to": role.as_str() }),
    };
    audit::record(tx, &event).await?;
    Ok(Joined { tenant, role })
}
