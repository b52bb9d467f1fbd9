//! Public prekeys of devices, first version of end-to-end encryption.

use guildhall_domain::messages::InboxId;
use guildhall_domain::messages::keys::Prekey;
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};

use crate::{Store, StoreError};

/// Replaces the prekey of a device, and forgets the oldest devices beyond a number.
pub async fn replace(
    store: &Store,
    inbox: InboxId,
    prekey: &Prekey,
    key_fingerprint: &[u8],
    max_devices: u32,
) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/e2ee_prekeys/replace.sql",
        inbox.get(),
        prekey.device,
        prekey.id,
        prekey.public_key,
        prekey.signature,
        prekey.created_at_ms,
        prekey.cert_fingerprint,
        key_fingerprint
    )
    .execute(&store.pool)
    .await?;
    sqlx::query_file!("queries/e2ee_prekeys/delete_surplus.sql", inbox.get(), i64::from(max_devices))
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Lists the prekeys that a key has signed, stored after a time.
pub async fn list(
    store: &Store,
    inbox: InboxId,
    key_fingerprint: &[u8],
    stored_after: Timestamp,
    limit: u32,
) -> Result<Vec<Prekey>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/e2ee_prekeys/list.sql",
        inbox.get(),
        key_fingerprint,
        stored_after.to_sqlx() as SqlTimestamp,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    let prekeys = rows.into_iter().map(|row| Prekey {
        device: row.device,
        id: row.prekey_id,
        public_key: row.public_key,
        signature: row.signature,
        created_at_ms: row.created_at_ms,
        cert_fingerprint: row.cert_fingerprint,
    });
    Ok(prekeys.collect())
}

/// Deletes prekeys that were stored before a time. Returns how many.
pub async fn delete_old(store: &Store, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let before = before.to_sqlx();
    let done =
        sqlx::query_file!("queries/e2ee_prekeys/delete_old.sql", before as SqlTimestamp, i64::from(limit))
            .execute(&store.pool)
            .await?;
    Ok(done.rows_affected())
}
