//! Members of tenants and their roles.

use guildhall_domain::access::role::Role;
use guildhall_domain::access::tenant::Member;
use guildhall_domain::ids::{PrincipalId, TenantId};

use crate::{Store, StoreError, Tx, relation_checks};

/// Maximum number of members in a list; larger tenants would need paging.
const MAX_MEMBERS: i64 = 1000;

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<Member>, StoreError> {
    let rows = sqlx::query_file!("queries/memberships/list.sql", tenant.as_uuid(), MAX_MEMBERS)
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().filter_map(|row| member(row.principal, row.name, &row.role)).collect())
}

/// The current roles that a change of a membership depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedRoles {
    /// The role of the actor; none if they are no longer a member.
    pub actor: Option<Role>,
    pub member: Option<Role>,
    pub owners: usize,
}

/// Reads and locks the roles of the actor, of a member and of all owners, so that two owners cannot remove each other
/// at the same time.
pub async fn lock_for_change(
    tx: &mut Tx,
    tenant: TenantId,
    actor: PrincipalId,
    member: PrincipalId,
) -> Result<LockedRoles, StoreError> {
    let rows = sqlx::query_file!(
        "queries/memberships/lock_for_change.sql",
        tenant.as_uuid(),
        actor.as_uuid(),
        member.as_uuid()
    )
    .fetch_all(tx.connection())
    .await?;
    let roles: Vec<(PrincipalId, Role)> = rows
        .into_iter()
        .filter_map(|row| Some((PrincipalId::from_uuid(row.principal), Role::from_name(&row.role).ok()?)))
        .collect();
    let role_of = |id| roles.iter().find(|(principal, _)| *principal == id).map(|(_, role)| *role);
    let owners = roles.iter().filter(|(_, role)| *role == Role::Owner).count();
    Ok(LockedRoles { actor: role_of(actor), member: role_of(member), owners })
}

/// Lists members with one of these roles, and these principals with any role. Disabled principals are left out.
pub async fn load_with_roles(
    tx: &mut Tx,
    tenant: TenantId,
    roles: &[Role],
    principals: &[PrincipalId],
) -> Result<Vec<(PrincipalId, Role)>, StoreError> {
    let roles: Vec<String> = roles.iter().map(Role::to_string).collect();
    let principals: Vec<_> = principals.iter().map(|principal| principal.as_uuid()).collect();
    let rows =
        sqlx::query_file!("queries/memberships/list_with_roles.sql", tenant.as_uuid(), &roles, &principals)
            .fetch_all(tx.connection())
            .await?;
    let read = |role: &str| Role::from_name(role).ok();
    Ok(rows
        .into_iter()
        .filter_map(|row| Some((PrincipalId::from_uuid(row.principal), read(&row.role)?)))
        .collect())
}

/// Finds and locks the role of a principal in a tenant. A disabled principal has none.
pub async fn lock(tx: &mut Tx, tenant: TenantId, principal: PrincipalId) -> Result<Option<Role>, StoreError> {
    let row = sqlx::query_file!("queries/memberships/lock.sql", tenant.as_uuid(), principal.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| Role::from_name(&row.role).ok()))
}

/// Finds the role of a member who can act now, and keeps it until the end of the transaction. A disabled principal and a
/// revoked key have none.
pub async fn lock_member(
    tx: &mut Tx,
    tenant: TenantId,
    principal: PrincipalId,
) -> Result<Option<Role>, StoreError> {
    let row = sqlx::query_file!("queries/memberships/lock_member.sql", tenant.as_uuid(), principal.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| Role::from_name(&row.role).ok()))
}

/// Makes a principal a member, or changes their role. A member who comes back is asked about what they could not see meanwhile.
pub async fn upsert(
    tx: &mut Tx,
    tenant: TenantId,
    principal: PrincipalId,
    role: Role,
) -> Result<(), StoreError> {
    sqlx::query_file!("queries/memberships/upsert.sql", tenant.as_uuid(), principal.as_uuid(), role.as_str())
        .execute(tx.connection())
        .await?;
    relation_checks::start_for_member(tx, tenant, principal).await
}

pub async fn delete(tx: &mut Tx, tenant: TenantId, principal: PrincipalId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/memberships/delete.sql", tenant.as_uuid(), principal.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

fn member(principal: uuid::Uuid, name: String, role: &str) -> Option<Member> {
    Some(Member { principal: PrincipalId::from_uuid(principal), name, role: Role::from_name(role).ok()? })
}
