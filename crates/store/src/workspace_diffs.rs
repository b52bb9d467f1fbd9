//! The changes of workspaces.

use guildhall_domain::ids::{CommandId, RunId};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// A diff as it is stored.
#[derive(Debug, Clone)]
pub struct SealedDiff {
    pub command: CommandId,
    pub sealed_content: Vec<u8>,
    pub created_at: jiff::Timestamp,
    /// Whether a later turn has started since.
    pub is_stale: bool,
}

/// Stores the diff of a run, instead of an earlier one.
pub async fn put(tx: &mut Tx, run: RunId, command: CommandId, content: &[u8]) -> Result<(), StoreError> {
    sqlx::query_file!("queries/workspace_diffs/put.sql", run.as_uuid(), command.as_uuid(), content)
        .execute(tx.connection())
        .await?;
    Ok(())
}

pub async fn find(store: &Store, run: RunId) -> Result<Option<SealedDiff>, StoreError> {
    let row = sqlx::query_file!("queries/workspace_diffs/find.sql", run.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| SealedDiff {
        command: CommandId::from_uuid(row.command),
        sealed_content: row.sealed_content,
        created_at: row.created_at.to_jiff(),
        is_stale: row.is_stale,
    }))
}

/// Deletes the diff of a run. Returns whether there was one.
pub async fn delete(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/workspace_diffs/delete.sql", run.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}
