//! End users of tenants' applications.

use guildhall_domain::access::role::Role;
use guildhall_domain::access::subject::Subject;
use guildhall_domain::ids::{PrincipalId, ServiceKeyId, TenantId};

use crate::{Store, StoreError, Tx};

pub async fn find(
    store: &Store,
    tenant: TenantId,
    subject: &Subject,
) -> Result<Option<PrincipalId>, StoreError> {
    let row = sqlx::query_file!("queries/external_subjects/find.sql", tenant.as_uuid(), subject.as_str())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| PrincipalId::from_uuid(row.principal)))
}

/// Writes a subject. Returns whether it was new; when another is writing it, that one is waited for.
pub async fn insert(
    tx: &mut Tx,
    tenant: TenantId,
    subject: &Subject,
    principal: PrincipalId,
) -> Result<bool, StoreError> {
    let (tenant, principal) = (tenant.as_uuid(), principal.as_uuid());
    let done = sqlx::query_file!("queries/external_subjects/insert.sql", tenant, subject.as_str(), principal)
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Reads the role that a service key has in the tenant of a subject it vouches for; none when the key, the subject or
/// the role no longer holds.
pub async fn vouched_by(
    store: &Store,
    principal: PrincipalId,
    tenant: TenantId,
    key: ServiceKeyId,
) -> Result<Option<Role>, StoreError> {
    let (principal, tenant, key) = (principal.as_uuid(), tenant.as_uuid(), key.as_uuid());
    let row = sqlx::query_file!("queries/external_subjects/vouched_by.sql", principal, tenant, key)
        .fetch_optional(&store.pool)
        .await?;
    // A role that this binary does not know is no role: unknown authority is refused.
    Ok(row.and_then(|row| Role::from_name(&row.role).ok()))
}
