//! Browser sign-ins for the CLI that wait for the confirmation of the user.

use guildhall_domain::access::oidc::CliCallback;
use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::{StoreError, Tx};

/// Number of expired rows that an insert deletes.
const EXPIRED_BATCH_SIZE: i64 = 100;

/// A browser sign-in that waits for confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffConfirmation {
    pub principal: PrincipalId,
    pub cli: CliCallback,
    pub expires_at: jiff::Timestamp,
}

pub async fn insert(
    tx: &mut Tx,
    id: Uuid,
    browser_hash: &[u8],
    waiting: &HandoffConfirmation,
) -> Result<(), StoreError> {
    sqlx::query_file!("queries/handoff_confirmations/delete_expired.sql", EXPIRED_BATCH_SIZE)
        .execute(tx.connection())
        .await?;
    sqlx::query_file!(
        "queries/handoff_confirmations/insert.sql",
        id,
        browser_hash,
        waiting.principal.as_uuid(),
        i32::from(waiting.cli.port),
        waiting.cli.challenge,
        waiting.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Finds the sign-in of a browser, with the name of its user. None if the user is disabled.
pub async fn find(
    tx: &mut Tx,
    id: Uuid,
    browser_hash: &[u8],
) -> Result<Option<(String, HandoffConfirmation)>, StoreError> {
    let row = sqlx::query_file!("queries/handoff_confirmations/find.sql", id, browser_hash)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| {
        let cli = CliCallback { port: u16::try_from(row.cli_port).ok()?, challenge: row.cli_challenge };
        let (principal, expires_at) = (PrincipalId::from_uuid(row.principal), row.expires_at.to_jiff());
        Some((row.name, HandoffConfirmation { principal, cli, expires_at }))
    }))
}

/// Deletes the sign-in of a browser. Returns `false` if it was deleted before: it can be confirmed once.
pub async fn delete(tx: &mut Tx, id: Uuid, browser_hash: &[u8]) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/handoff_confirmations/delete.sql", id, browser_hash)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.is_some())
}

/// Deletes the waiting confirmations of a principal.
pub async fn delete_by_principal(tx: &mut Tx, principal: PrincipalId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/handoff_confirmations/delete_by_principal.sql", principal.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}
