//! Public keys of devices, second version of end-to-end encryption.

use guildhall_domain::messages::InboxId;
use guildhall_domain::messages::keys::{MAX_GENERATIONS, SignedPrekey};
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};

use crate::{Store, StoreError};

/// Stores the key of a device, and forgets the oldest ones beyond the numbers of generations and devices.
pub async fn insert(
    store: &Store,
    inbox: InboxId,
    key: &SignedPrekey,
    key_fingerprint: &[u8],
    max_devices: u32,
) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/e2ee_signed_prekeys/insert.sql",
        inbox.get(),
        key.device,
        key.id,
        key.public_key,
        key.signature,
        key.signed_at,
        key_fingerprint
    )
    .execute(&store.pool)
    .await?;
    sqlx::query_file!(
        "queries/e2ee_signed_prekeys/delete_surplus.sql",
        inbox.get(),
        i64::from(MAX_GENERATIONS),
        i64::from(max_devices)
    )
    .execute(&store.pool)
    .await?;
    Ok(())
}

/// Lists the keys that a key of the AID has signed, stored after a time: those of a device together, the newest first.
pub async fn list(
    store: &Store,
    inbox: InboxId,
    key_fingerprint: &[u8],
    stored_after: Timestamp,
) -> Result<Vec<SignedPrekey>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/e2ee_signed_prekeys/list.sql",
        inbox.get(),
        key_fingerprint,
        stored_after.to_sqlx() as SqlTimestamp
    )
    .fetch_all(&store.pool)
    .await?;
    let keys = rows.into_iter().map(|row| SignedPrekey {
        device: row.device,
        id: row.spk_id,
        public_key: row.public_key,
        signature: row.signature,
        signed_at: row.signed_at,
    });
    Ok(keys.collect())
}

/// Deletes keys that were stored before a time. Returns how many.
pub async fn delete_old(store: &Store, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let before = before.to_sqlx();
    let done = sqlx::query_file!(
        "queries/e2ee_signed_prekeys/delete_old.sql",
        before as SqlTimestamp,
        i64::from(limit)
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected())
}
