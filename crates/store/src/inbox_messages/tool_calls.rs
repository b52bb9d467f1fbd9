//! Calls of tools that a user has not received when they take their consent back.

use guildhall_domain::ids::{AgentId, PrincipalId};

use crate::{StoreError, Tx};

/// Removes the content of an agent's calls that some device of a user has not confirmed. Returns how many there were. The heads
/// of the inboxes are locked: what was sent before is found.
pub async fn end_undelivered_calls(
    tx: &mut Tx,
    agent: AgentId,
    user: PrincipalId,
) -> Result<u64, StoreError> {
    let (agent, user) = (agent.as_uuid(), user.as_uuid());
    let rows = sqlx::query_file!("queries/inbox_messages/list_tool_call_inboxes.sql", agent, user)
        .fetch_all(tx.connection())
        .await?;
    let Some(sender) = rows.iter().find_map(|row| row.sender) else { return Ok(0) };
    let inboxes: Vec<i64> = rows.into_iter().map(|row| row.inbox).collect();
    crate::inboxes::lock(tx.connection(), &inboxes).await?;
    let ended = sqlx::query_file!("queries/inbox_messages/end_tool_calls.sql", &inboxes, sender)
        .execute(tx.connection())
        .await?;
    Ok(ended.rows_affected())
}
