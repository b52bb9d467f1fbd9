//! Nonces that AIDs have signed. Each counts once.

use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{StoreError, Tx};

/// Number of expired nonces that a new one deletes.
const EXPIRED_BATCH_SIZE: i64 = 100;

/// Records the hash of a nonce. Returns false where it was used before.
pub async fn insert(
    tx: &mut Tx,
    nonce_hash: &[u8; 32],
    expires_at: jiff::Timestamp,
    now: jiff::Timestamp,
) -> Result<bool, StoreError> {
    sqlx::query_file!(
        "queries/used_login_nonces/delete_expired.sql",
        now.to_sqlx() as Timestamp,
        EXPIRED_BATCH_SIZE
    )
    .execute(tx.connection())
    .await?;
    let done = sqlx::query_file!(
        "queries/used_login_nonces/insert.sql",
        nonce_hash.as_slice(),
        expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}
