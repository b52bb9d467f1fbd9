//! The encrypted values of answers.

use guildhall_domain::ids::ApprovalId;
use jiff::SignedDuration;

use crate::{Store, StoreError, Tx};

/// Stores the encrypted values of an answer that another approval has got.
pub async fn set_content(tx: &mut Tx, id: ApprovalId, sealed: &[u8]) -> Result<(), StoreError> {
    let set = sqlx::query_file!("queries/approvals/set_content.sql", id.as_uuid(), sealed);
    set.execute(tx.connection()).await?;
    Ok(())
}

/// Sets for how long the values of an answer are kept that is not delivered.
pub async fn limit_content(tx: &mut Tx, id: ApprovalId, kept_for: SignedDuration) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approvals/limit_content.sql", id.as_uuid(), kept_for.as_secs_f64())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Finds the encrypted values of the answer.
pub async fn find_content(store: &Store, id: ApprovalId) -> Result<Option<Vec<u8>>, StoreError> {
    let row = sqlx::query_file!("queries/approvals/find_content.sql", id.as_uuid());
    Ok(row.fetch_optional(&store.pool).await?.and_then(|row| row.sealed_content))
}

/// Finds the encrypted values of the answer, in a transaction that holds the lock of the run.
pub async fn load_content(tx: &mut Tx, id: ApprovalId) -> Result<Option<Vec<u8>>, StoreError> {
    let row = sqlx::query_file!("queries/approvals/find_content.sql", id.as_uuid());
    Ok(row.fetch_optional(tx.connection()).await?.and_then(|row| row.sealed_content))
}

/// Erases the values of answers that were not delivered, and cannot be used any more.
pub async fn erase_ended_content(store: &Store) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approvals/erase_ended_content.sql").execute(&store.pool).await?;
    Ok(())
}
