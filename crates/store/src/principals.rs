//! Who there is, and what decides on them.

use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{LoginId, PrincipalId, TenantId};

use crate::{Store, StoreError, Tx};

/// A principal to make.
#[derive(Debug, Clone)]
pub struct NewPrincipal<'a> {
    pub id: PrincipalId,
    pub kind: PrincipalKind,
    pub name: &'a str,
    pub is_operator: bool,
}

/// What a request may do, as the database has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    pub name: String,
    pub is_operator: bool,
    pub role: Option<(TenantId, Role)>,
}

pub async fn insert(tx: &mut Tx, new: &NewPrincipal<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/principals/insert.sql",
        new.id.as_uuid(),
        new.kind.as_str(),
        new.name,
        new.is_operator
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Counts who may operate the installation, and keeps others from counting until the end of the transaction: two who
/// each found nobody would each make the first.
pub async fn count_operators(tx: &mut Tx) -> Result<i64, StoreError> {
    // A statement of its own: the count must see what was committed while this one waited.
    sqlx::query_file!("queries/principals/lock_operators.sql").execute(tx.connection()).await?;
    let row = sqlx::query_file!("queries/principals/count_operators.sql").fetch_one(tx.connection()).await?;
    Ok(row.count)
}

/// Reads what a principal may do; none when it is disabled or its login no longer holds.
/// A role in `tenant` is read along, where there is one.
pub async fn authority(
    store: &Store,
    id: PrincipalId,
    login: Option<LoginId>,
    tenant: Option<TenantId>,
) -> Result<Option<Authority>, StoreError> {
    let (login, tenant) = (login.map(LoginId::as_uuid), tenant.map(TenantId::as_uuid));
    let row = sqlx::query_file!("queries/principals/authority.sql", id.as_uuid(), login, tenant)
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| Authority {
        name: row.name,
        is_operator: row.is_operator,
        // A role that this binary does not know is no role: unknown authority is refused.
        role: row
            .tenant
            .zip(row.role)
            .and_then(|(tenant, role)| Some((TenantId::from_uuid(tenant), Role::from_name(&role).ok()?))),
    }))
}
