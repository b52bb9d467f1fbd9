//! Service keys: long-lived API keys of tenants.

use guildhall_domain::access::service_key::ServiceKey;
use guildhall_domain::ids::{PrincipalId, ServiceKeyId, TenantId};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Maximum number of keys in a list.
const MAX_KEYS: i64 = 1000;

/// Values of a new key. Only the hash of the secret is stored.
#[derive(Debug, Clone)]
pub struct NewServiceKey<'a> {
    pub id: ServiceKeyId,
    pub tenant: TenantId,
    pub principal: PrincipalId,
    pub name: &'a str,
    pub hash: &'a [u8],
}

/// A key that is not revoked.
#[derive(Debug, Clone)]
pub struct ActiveKey {
    pub tenant: TenantId,
    pub principal: PrincipalId,
    pub hash: Vec<u8>,
    pub last_used_at: Option<jiff::Timestamp>,
}

pub async fn insert(tx: &mut Tx, new: &NewServiceKey<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/service_keys/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.principal.as_uuid(),
        new.name,
        new.hash
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Finds a key that is not revoked.
pub async fn find(store: &Store, id: ServiceKeyId) -> Result<Option<ActiveKey>, StoreError> {
    let row =
        sqlx::query_file!("queries/service_keys/find.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| ActiveKey {
        tenant: TenantId::from_uuid(row.tenant),
        principal: PrincipalId::from_uuid(row.principal),
        hash: row.hash,
        last_used_at: row.last_used_at.map(Timestamp::to_jiff),
    }))
}

/// Updates the last-used time of a key.
pub async fn touch(store: &Store, id: ServiceKeyId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/service_keys/touch.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<ServiceKey>, StoreError> {
    let rows = sqlx::query_file!("queries/service_keys/list.sql", tenant.as_uuid(), MAX_KEYS)
        .fetch_all(&store.pool)
        .await?;
    let keys = rows.into_iter().map(|row| ServiceKey {
        id: ServiceKeyId::from_uuid(row.id),
        name: row.name,
        created_at: row.created_at.to_jiff(),
        last_used_at: row.last_used_at.map(Timestamp::to_jiff),
        revoked_at: row.revoked_at.map(Timestamp::to_jiff),
    });
    Ok(keys.collect())
}

/// Revokes a key. Returns `false` if it was already revoked.
pub async fn revoke(tx: &mut Tx, tenant: TenantId, id: ServiceKeyId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/service_keys/revoke.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns whether a tenant has a key with this id, revoked or not.
pub async fn exists(tx: &mut Tx, tenant: TenantId, id: ServiceKeyId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/service_keys/exists.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(row.exists)
}
