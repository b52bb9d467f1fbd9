//! Calls of tools that a user has not received when they take their consent back.

use guildhall_domain::ids::{PrincipalId, RelationId};

use crate::{StoreError, Tx};

/// Removes the content of calls under a relation that some device of its user has not confirmed. Returns how many there were. The
/// heads of the inboxes are locked: what was sent before is found.
pub async fn end_undelivered_calls(
    tx: &mut Tx,
    relation: RelationId,
    user: PrincipalId,
) -> Result<u64, StoreError> {
    let inboxes: Vec<i64> =
        sqlx::query_file_scalar!("queries/inbox_messages/list_inboxes_of_user.sql", user.as_uuid())
            .fetch_all(tx.connection())
            .await?;
    crate::inboxes::lock(tx.connection(), &inboxes).await?;
    let ended = sqlx::query_file!("queries/inbox_messages/end_tool_calls.sql", &inboxes, relation.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(ended.rows_affected())
}
