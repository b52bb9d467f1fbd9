//! Idempotency keys of create requests.

use guildhall_domain::ids::PrincipalId;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// The request body and the object that were stored under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    pub body_hash: Vec<u8>,
    pub id: Uuid,
}

/// Claims a key for a new object, or returns the record of the earlier request. The caller compares the id with its
/// own to find out which of the two happened.
pub async fn claim(
    tx: &mut Tx,
    principal: PrincipalId,
    key: &str,
    body_hash: &[u8],
    id: Uuid,
) -> Result<IdempotencyRecord, StoreError> {
    let row =
        sqlx::query_file!("queries/idempotency_keys/claim.sql", principal.as_uuid(), key, body_hash, id)
            .fetch_one(tx.connection())
            .await?;
    Ok(IdempotencyRecord { body_hash: row.body_hash, id: row.made })
}

/// Deletes at most `limit` keys that are older than their window. Returns how many were deleted.
pub async fn delete_old(store: &Store, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/idempotency_keys/delete_old.sql", i64::from(limit))
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}
