//! Principals and their authority.

use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{LoginId, PrincipalId, TenantId};

use crate::{Store, StoreError, Tx};

/// Values of a new principal.
#[derive(Debug, Clone)]
pub struct NewPrincipal<'a> {
    pub id: PrincipalId,
    pub kind: PrincipalKind,
    pub name: &'a str,
    pub is_operator: bool,
}

/// The current permissions of a principal.
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

/// Counts the operators of the installation, under a lock until the end of the transaction: two concurrent callers
/// must not both find none and create the first.
pub async fn count_operators(tx: &mut Tx) -> Result<i64, StoreError> {
    // A separate statement: the count must see rows that were committed while this one waited for the lock.
    sqlx::query_file!("queries/principals/lock_operators.sql").execute(tx.connection()).await?;
    let row = sqlx::query_file!("queries/principals/count_operators.sql").fetch_one(tx.connection()).await?;
    Ok(row.count)
}

/// Finds the authority of a principal, with its role in `tenant`. Returns `None` if the principal is disabled or the
/// login is no longer valid.
pub async fn find_authority(
    store: &Store,
    id: PrincipalId,
    login: Option<LoginId>,
    tenant: Option<TenantId>,
) -> Result<Option<Authority>, StoreError> {
    let (login, tenant) = (login.map(LoginId::as_uuid), tenant.map(TenantId::as_uuid));
    let row = sqlx::query_file!("queries/principals/find_authority.sql", id.as_uuid(), login, tenant)
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| Authority {
        name: row.name,
        is_operator: row.is_operator,
        // An unknown role, written by a newer binary, grants nothing.
        role: row
            .tenant
            .zip(row.role)
            .and_then(|(tenant, role)| Some((TenantId::from_uuid(tenant), Role::from_name(&role).ok()?))),
    }))
}
