//! One-time codes with which a command fetches its tokens.

use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::{StoreError, Tx};

/// Expired ones that a new one clears away.
const FORGET_AT_ONCE: i64 = 100;

/// A sign-in that waits for its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    pub principal: PrincipalId,
    pub challenge: String,
    pub expires_at: jiff::Timestamp,
}

pub async fn insert(tx: &mut Tx, id: Uuid, hash: &[u8], handoff: &Handoff) -> Result<(), StoreError> {
    sqlx::query_file!("queries/handoffs/forget_expired.sql", FORGET_AT_ONCE).execute(tx.connection()).await?;
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

/// Takes a code: it is there once.
pub async fn take(tx: &mut Tx, id: Uuid, hash: &[u8]) -> Result<Option<Handoff>, StoreError> {
    let row =
        sqlx::query_file!("queries/handoffs/take.sql", id, hash).fetch_optional(tx.connection()).await?;
    Ok(row.map(|row| Handoff {
        principal: PrincipalId::from_uuid(row.principal),
        challenge: row.challenge,
        expires_at: row.expires_at.to_jiff(),
    }))
}
