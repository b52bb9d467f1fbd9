//! What a create under a client's key made.

use guildhall_domain::ids::PrincipalId;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// What stands under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub body_hash: Vec<u8>,
    pub id: Uuid,
}

/// Takes a key for an object that is about to be made, or returns what was made under it before.
/// The first taker's row is returned to all; whose it is shows by the id.
pub async fn claim(
    tx: &mut Tx,
    principal: PrincipalId,
    key: &str,
    body_hash: &[u8],
    id: Uuid,
) -> Result<Made, StoreError> {
    let row =
        sqlx::query_file!("queries/idempotency_keys/claim.sql", principal.as_uuid(), key, body_hash, id)
            .fetch_one(tx.connection())
            .await?;
    Ok(Made { body_hash: row.body_hash, id: row.made })
}

/// Forgets at most `limit` keys past their window. Returns how many it forgot.
pub async fn forget_old(store: &Store, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/idempotency_keys/forget_old.sql", i64::from(limit))
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}
