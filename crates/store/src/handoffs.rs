//! One-time codes that the CLI exchanges for its tokens after a browser sign-in.

use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::{StoreError, Tx};

/// Number of expired codes that an insert deletes.
const EXPIRED_BATCH_SIZE: i64 = 100;

/// A completed sign-in that the CLI has not collected yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    pub principal: PrincipalId,
    pub challenge: String,
    pub expires_at: jiff::Timestamp,
}

pub async fn insert(tx: &mut Tx, id: Uuid, hash: &[u8], handoff: &Handoff) -> Result<(), StoreError> {
    sqlx::query_file!("queries/handoffs/delete_expired.sql", EXPIRED_BATCH_SIZE)
        .execute(tx.connection())
        .await?;
    sqlx::query_file!(
        "queries/handoffs/insert.sql",
        id,
        hash,
        handoff.principal.as_uuid(),
        handoff.challenge,
        handoff.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Finds and deletes a code: it can be used once.
pub async fn consume(tx: &mut Tx, id: Uuid, hash: &[u8]) -> Result<Option<Handoff>, StoreError> {
    let row =
        sqlx::query_file!("queries/handoffs/delete.sql", id, hash).fetch_optional(tx.connection()).await?;
    Ok(row.map(|row| Handoff {
        principal: PrincipalId::from_uuid(row.principal),
        challenge: row.challenge,
        expires_at: row.expires_at.to_jiff(),
    }))
}

/// Deletes the codes of a principal.
pub async fn delete_by_principal(tx: &mut Tx, principal: PrincipalId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/handoffs/delete_by_principal.sql", principal.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}
