//! Approval policies of tenants. A stored version never changes.

use guildhall_domain::approvals::policy::ApprovalPolicy;
use guildhall_domain::ids::{PrincipalId, TenantId};
use sqlx::PgExecutor;

use crate::{Store, StoreError, Tx};

/// Returns the policy of a tenant: the default of the server if it has none of its own.
pub async fn find(store: &Store, tenant: TenantId) -> Result<ApprovalPolicy, StoreError> {
    latest(&store.pool, tenant).await
}

/// Returns the policy of a tenant within a transaction.
pub async fn load(tx: &mut Tx, tenant: TenantId) -> Result<ApprovalPolicy, StoreError> {
    latest(tx.connection(), tenant).await
}

async fn latest(executor: impl PgExecutor<'_>, tenant: TenantId) -> Result<ApprovalPolicy, StoreError> {
    let row = sqlx::query_file!("queries/approval_policies/find_latest.sql", tenant.as_uuid())
        .fetch_optional(executor)
        .await?;
    row.map_or_else(|| Ok(ApprovalPolicy::default()), |row| read(row.version, &row.policy))
}

/// Returns the version of a policy that an approval was asked under.
pub async fn find_version(
    store: &Store,
    tenant: TenantId,
    version: u32,
) -> Result<ApprovalPolicy, StoreError> {
    read_version(&store.pool, tenant, version).await
}

/// Returns a version of a policy within a transaction.
pub async fn load_version(tx: &mut Tx, tenant: TenantId, version: u32) -> Result<ApprovalPolicy, StoreError> {
    read_version(tx.connection(), tenant, version).await
}

async fn read_version(
    executor: impl PgExecutor<'_>,
    tenant: TenantId,
    version: u32,
) -> Result<ApprovalPolicy, StoreError> {
    if version == ApprovalPolicy::DEFAULT_VERSION {
        return Ok(ApprovalPolicy::default());
    }
    let number = i32::try_from(version).unwrap_or(i32::MAX);
    let row = sqlx::query_file!("queries/approval_policies/find.sql", tenant.as_uuid(), number)
        .fetch_one(executor)
        .await?;
    read(row.version, &row.policy)
}

fn read(version: i32, policy: &str) -> Result<ApprovalPolicy, StoreError> {
    let unreadable = |source| StoreError::Unreadable { column: "approval_policies.policy", source };
    let version = u32::try_from(version).map_err(|error| unreadable(error.into()))?;
    ApprovalPolicy::from_json(version, policy).map_err(|error| unreadable(error.into()))
}

/// Locks the policy of a tenant against concurrent changes, and returns it.
pub async fn lock(tx: &mut Tx, tenant: TenantId) -> Result<ApprovalPolicy, StoreError> {
    sqlx::query_file!("queries/approval_policies/lock_tenant.sql", tenant.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    load(tx, tenant).await
}

/// Inserts the next version of a policy.
pub async fn insert(
    tx: &mut Tx,
    tenant: TenantId,
    policy: &ApprovalPolicy,
    created_by: PrincipalId,
) -> Result<(), StoreError> {
    let version = i32::try_from(policy.version).unwrap_or(i32::MAX);
    let text = policy.to_json();
    sqlx::query_file!(
        "queries/approval_policies/insert.sql",
        tenant.as_uuid(),
        version,
        text,
        created_by.as_uuid()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Returns whether a tenant wants answers from the server's own machine only.
pub async fn exists_local_only(store: &Store) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/approval_policies/exists_local_only.sql");
    Ok(row.fetch_one(&store.pool).await?.found)
}
