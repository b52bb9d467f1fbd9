//! External subjects: end users of a tenant's application.

use guildhall_domain::access::role::Role;
use guildhall_domain::access::subject::Subject;
use guildhall_domain::ids::{PrincipalId, RunId, ServiceKeyId, TenantId};
use sqlx::PgExecutor;

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

/// Inserts a subject. Returns `false` if it exists; waits for a concurrent insert of the same subject.
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

/// Finds the role of a service key in the tenant of a subject it vouches for. Returns `None` if the key is revoked, the
/// key or the subject is disabled, or the key has no role.
pub async fn find_key_role(
    store: &Store,
    principal: PrincipalId,
    tenant: TenantId,
    key: ServiceKeyId,
) -> Result<Option<Role>, StoreError> {
    let (principal, tenant, key) = (principal.as_uuid(), tenant.as_uuid(), key.as_uuid());
    let row = sqlx::query_file!("queries/external_subjects/find_key_role.sql", principal, tenant, key)
        .fetch_optional(&store.pool)
        .await?;
    // An unknown role, written by a newer binary, grants nothing.
    Ok(row.and_then(|row| Role::from_name(&row.role).ok()))
}

/// Returns the subject that may answer the questions of a run: the one that has created it, if the agent lets end users
/// answer.
pub async fn find_answering(store: &Store, run: RunId) -> Result<Option<PrincipalId>, StoreError> {
    answering(&store.pool, run).await
}

/// Returns the subject that may answer the questions of a run within a transaction.
pub async fn load_answering(tx: &mut Tx, run: RunId) -> Result<Option<PrincipalId>, StoreError> {
    answering(tx.connection(), run).await
}

async fn answering(executor: impl PgExecutor<'_>, run: RunId) -> Result<Option<PrincipalId>, StoreError> {
    let row = sqlx::query_file!("queries/external_subjects/find_answering.sql", run.as_uuid())
        .fetch_optional(executor)
        .await?;
    Ok(row.map(|row| PrincipalId::from_uuid(row.principal)))
}
