//! Invitations to become a member.

use guildhall_domain::access::invitation::Invitation;
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{InviteId, PrincipalId, TenantId};
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError, Tx};

/// Invitations of one tenant that an answer lists, the newest first.
const INVITATIONS_AT_MOST: i64 = 1000;

/// An invitation to write; the secret itself is known to its holder alone.
#[derive(Debug, Clone)]
pub struct NewInvitation<'a> {
    pub id: InviteId,
    pub tenant: TenantId,
    pub role: Role,
    pub note: Option<&'a str>,
    pub hash: &'a [u8],
    pub invited_by: PrincipalId,
    pub expires_at: jiff::Timestamp,
}

/// An invitation as it is decided on.
#[derive(Debug, Clone)]
pub struct InvitationCheck {
    pub tenant: TenantId,
    pub hash: Vec<u8>,
    pub invited_by: PrincipalId,
    pub invitation: Invitation,
}

/// An invitation as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedInvitation {
    pub id: InviteId,
    pub role: String,
    pub note: Option<String>,
    pub invited_by: PrincipalId,
    pub created_at: jiff::Timestamp,
    pub expires_at: jiff::Timestamp,
    pub revoked_at: Option<jiff::Timestamp>,
    pub accepted_at: Option<jiff::Timestamp>,
    pub accepted_by: Option<PrincipalId>,
}

pub async fn insert(tx: &mut Tx, new: &NewInvitation<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/invitations/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.role.as_str(),
        new.note,
        new.hash,
        new.invited_by.as_uuid(),
        new.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<ListedInvitation>, StoreError> {
    let rows = sqlx::query_file!("queries/invitations/list.sql", tenant.as_uuid(), INVITATIONS_AT_MOST)
        .fetch_all(&store.pool)
        .await?;
    let invitations = rows.into_iter().map(|row| ListedInvitation {
        id: InviteId::from_uuid(row.id),
        role: row.role,
        note: row.note,
        invited_by: PrincipalId::from_uuid(row.invited_by),
        created_at: row.created_at.to_jiff(),
        expires_at: row.expires_at.to_jiff(),
        revoked_at: row.revoked_at.map(Timestamp::to_jiff),
        accepted_at: row.accepted_at.map(Timestamp::to_jiff),
        accepted_by: row.accepted_by.map(PrincipalId::from_uuid),
    });
    Ok(invitations.collect())
}

/// Finds an invitation and holds it: of two who accept it at once, one is late.
pub async fn lock(tx: &mut Tx, id: InviteId) -> Result<Option<InvitationCheck>, StoreError> {
    let row = sqlx::query_file!("queries/invitations/lock.sql", id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| {
        let invitation = Invitation {
            // A role that this binary does not know is given to nobody.
            role: Role::from_name(&row.role).ok()?,
            expires_at: row.expires_at.to_jiff(),
            revoked_at: row.revoked_at.map(Timestamp::to_jiff),
            accepted_at: row.accepted_at.map(Timestamp::to_jiff),
        };
        let (tenant, invited_by) = (TenantId::from_uuid(row.tenant), PrincipalId::from_uuid(row.invited_by));
        Some(InvitationCheck { tenant, hash: row.hash, invited_by, invitation })
    }))
}

pub async fn accept(tx: &mut Tx, id: InviteId, by: PrincipalId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/invitations/accept.sql", id.as_uuid(), by.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Takes an invitation back. Returns whether it was still open.
pub async fn revoke(tx: &mut Tx, tenant: TenantId, id: InviteId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/invitations/revoke.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns whether a tenant has or had an invitation.
pub async fn exists(tx: &mut Tx, tenant: TenantId, id: InviteId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/invitations/exists.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(row.exists)
}
