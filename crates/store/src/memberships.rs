//! Who belongs to which tenant, and as what.

use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{PrincipalId, TenantId};

use crate::{Store, StoreError, Tx};

/// Members of one tenant that an answer lists; a larger tenant needs pages.
const MEMBERS_AT_MOST: i64 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub principal: PrincipalId,
    pub name: String,
    pub role: Role,
}

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<Member>, StoreError> {
    let rows = sqlx::query_file!("queries/memberships/list.sql", tenant.as_uuid(), MEMBERS_AT_MOST)
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().filter_map(|row| member(row.principal, row.name, &row.role)).collect())
}

/// Reads the members and holds them: two who each remove the other's ownership wait for each other.
pub async fn lock_all(tx: &mut Tx, tenant: TenantId) -> Result<Vec<Member>, StoreError> {
    let rows = sqlx::query_file!("queries/memberships/lock_all.sql", tenant.as_uuid(), MEMBERS_AT_MOST)
        .fetch_all(tx.connection())
        .await?;
    Ok(rows.into_iter().filter_map(|row| member(row.principal, row.name, &row.role)).collect())
}

/// Reads what somebody is in a tenant, and holds it until the end of the transaction. Who is disabled is nothing.
pub async fn lock(tx: &mut Tx, tenant: TenantId, principal: PrincipalId) -> Result<Option<Role>, StoreError> {
    let row = sqlx::query_file!("queries/memberships/lock.sql", tenant.as_uuid(), principal.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| Role::from_name(&row.role).ok()))
}

pub async fn set(
    tx: &mut Tx,
    tenant: TenantId,
    principal: PrincipalId,
    role: Role,
) -> Result<(), StoreError> {
    sqlx::query_file!("queries/memberships/set.sql", tenant.as_uuid(), principal.as_uuid(), role.as_str())
        .execute(tx.connection())
        .await?;
    Ok(())
}

pub async fn remove(tx: &mut Tx, tenant: TenantId, principal: PrincipalId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/memberships/remove.sql", tenant.as_uuid(), principal.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

fn member(principal: uuid::Uuid, name: String, role: &str) -> Option<Member> {
    Some(Member { principal: PrincipalId::from_uuid(principal), name, role: Role::from_name(role).ok()? })
}
