//! Invitations to join a tenant.

use guildhall_domain::access::invitation::Invitation;
use guildhall_domain::access::invitation::InvitationSummary;
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{InviteId, PrincipalId, TenantId};
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError, Tx};

/// Maximum number of invitations in a list, newest first.
const MAX_INVITATIONS: i64 = 1000;

/// Values of a new invitation. Only the hash of the secret is stored.
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

/// An invitation that is locked for a decision.
#[derive(Debug, Clone)]
pub struct LockedInvitation {
    pub tenant: TenantId,
    pub hash: Vec<u8>,
    pub invited_by: PrincipalId,
    pub invitation: Invitation,
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

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<InvitationSummary>, StoreError> {
    let rows = sqlx::query_file!("queries/invitations/list.sql", tenant.as_uuid(), MAX_INVITATIONS)
        .fetch_all(&store.pool)
        .await?;
    let invitations = rows.into_iter().map(|row| InvitationSummary {
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

/// Finds and locks an invitation, so that only one of two concurrent accepts succeeds.
pub async fn lock(tx: &mut Tx, id: InviteId) -> Result<Option<LockedInvitation>, StoreError> {
    let row = sqlx::query_file!("queries/invitations/lock.sql", id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| {
        let invitation = Invitation {
            // An unknown role, written by a newer binary, is not granted.
            role: Role::from_name(&row.role).ok()?,
            expires_at: row.expires_at.to_jiff(),
            revoked_at: row.revoked_at.map(Timestamp::to_jiff),
            accepted_at: row.accepted_at.map(Timestamp::to_jiff),
        };
        let (tenant, invited_by) = (TenantId::from_uuid(row.tenant), PrincipalId::from_uuid(row.invited_by));
        Some(LockedInvitation { tenant, hash: row.hash, invited_by, invitation })
    }))
}

pub async fn accept(tx: &mut Tx, id: InviteId, by: PrincipalId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/invitations/accept.sql", id.as_uuid(), by.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Revokes an invitation. Returns `false` if it is no longer open.
pub async fn revoke(tx: &mut Tx, tenant: TenantId, id: InviteId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/invitations/revoke.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns whether a tenant has an invitation with this id, open or not.
pub async fn exists(tx: &mut Tx, tenant: TenantId, id: InviteId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/invitations/exists.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(row.exists)
}
