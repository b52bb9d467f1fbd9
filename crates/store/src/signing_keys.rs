//! Keys that sign access tokens.

use guildhall_domain::access::signing::{KeySchedule, SigningKey};
use guildhall_domain::ids::SigningKeyId;
use jiff_sqlx::{Timestamp, ToSqlx};
use sqlx::PgExecutor;

use crate::{Store, StoreError, Tx};

/// A signing key pair; the private key is encrypted.
#[derive(Debug, Clone)]
pub struct StoredSigningKey {
    pub key: SigningKey,
    pub public_key: Vec<u8>,
    pub sealed_private_key: Vec<u8>,
}

pub async fn list(store: &Store) -> Result<Vec<StoredSigningKey>, StoreError> {
    list_with(&store.pool).await
}

/// Lists the keys and locks them until the end of the transaction, so that one replica at a time rotates them.
pub async fn lock(tx: &mut Tx) -> Result<Vec<StoredSigningKey>, StoreError> {
    sqlx::query_file!("queries/signing_keys/lock.sql").execute(tx.connection()).await?;
    list_with(tx.connection()).await
}

pub async fn insert(tx: &mut Tx, new: &StoredSigningKey) -> Result<(), StoreError> {
    let KeySchedule { created_at, signs_from, signs_until, verifies_until } = new.key.schedule;
    sqlx::query_file!(
        "queries/signing_keys/insert.sql",
        new.key.id.as_uuid(),
        new.public_key,
        new.sealed_private_key,
        created_at.to_sqlx() as Timestamp,
        signs_from.to_sqlx() as Timestamp,
        signs_until.to_sqlx() as Timestamp,
        verifies_until.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, ids: &[SigningKeyId]) -> Result<(), StoreError> {
    let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    sqlx::query_file!("queries/signing_keys/delete.sql", &ids).execute(tx.connection()).await?;
    Ok(())
}

async fn list_with(executor: impl PgExecutor<'_>) -> Result<Vec<StoredSigningKey>, StoreError> {
    let rows = sqlx::query_file!("queries/signing_keys/list.sql").fetch_all(executor).await?;
    let keys = rows.into_iter().map(|row| {
        let schedule = KeySchedule {
            created_at: row.created_at.to_jiff(),
            signs_from: row.signs_from.to_jiff(),
            signs_until: row.signs_until.to_jiff(),
            verifies_until: row.verifies_until.to_jiff(),
        };
        StoredSigningKey {
            key: SigningKey { id: SigningKeyId::from_uuid(row.id), schedule },
            public_key: row.public_key,
            sealed_private_key: row.sealed_private_key,
        }
    });
    Ok(keys.collect())
}
