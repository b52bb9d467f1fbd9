//! Long-lived keys of tenants, for programs.

use guildhall_domain::ids::{PrincipalId, ServiceKeyId, TenantId};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Keys of one tenant that an answer lists.
const KEYS_AT_MOST: i64 = 1000;

/// A key to write; the secret itself is known to its holder alone.
#[derive(Debug, Clone)]
pub struct NewKey<'a> {
    pub id: ServiceKeyId,
    pub tenant: TenantId,
    pub principal: PrincipalId,
    pub name: &'a str,
    pub hash: &'a [u8],
}

/// A key as it is checked.
#[derive(Debug, Clone)]
pub struct KeyCheck {
    pub tenant: TenantId,
    pub principal: PrincipalId,
    pub hash: Vec<u8>,
    pub last_used_at: Option<jiff::Timestamp>,
}

/// A key as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceKey {
    pub id: ServiceKeyId,
    pub name: String,
    pub created_at: jiff::Timestamp,
    pub last_used_at: Option<jiff::Timestamp>,
    pub revoked_at: Option<jiff::Timestamp>,
}

pub async fn insert(tx: &mut Tx, new: &NewKey<'_>) -> Result<(), StoreError> {
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

/// Finds a key that still holds.
pub async fn find(store: &Store, id: ServiceKeyId) -> Result<Option<KeyCheck>, StoreError> {
    let row =
        sqlx::query_file!("queries/service_keys/find.sql", id.as_uuid()).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| KeyCheck {
        tenant: TenantId::from_uuid(row.tenant),
        principal: PrincipalId::from_uuid(row.principal),
        hash: row.hash,
        last_used_at: row.last_used_at.map(Timestamp::to_jiff),
    }))
}

/// Notes that a key was used.
pub async fn touch(store: &Store, id: ServiceKeyId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/service_keys/touch.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

pub async fn list(store: &Store, tenant: TenantId) -> Result<Vec<ServiceKey>, StoreError> {
    let rows = sqlx::query_file!("queries/service_keys/list.sql", tenant.as_uuid(), KEYS_AT_MOST)
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

/// Ends a key. Returns whether it still held.
pub async fn revoke(tx: &mut Tx, tenant: TenantId, id: ServiceKeyId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/service_keys/revoke.sql", tenant.as_uuid(), id.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns whether a tenant has or had a key.
pub async fn exists(tx: &mut Tx, tenant: TenantId, id: ServiceKeyId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/service_keys/exists.sql", tenant.as_uuid(), id.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(row.exists)
}
