//! Who may call tools of a user.

use guildhall_domain::identity::Aid;
use guildhall_domain::ids::{AgentId, RelationId};
use guildhall_domain::messages::InboxId;

use crate::{Store, StoreError};

/// An agent, and the consent under which it may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCaller {
    pub agent: AgentId,
    pub relation: RelationId,
}

/// Returns the agent that speaks with an AID, if the owner of an inbox has an active relation with it.
pub async fn find_caller(
    store: &Store,
    sender: &Aid,
    recipient: InboxId,
) -> Result<Option<ToolCaller>, StoreError> {
    let found = sqlx::query_file!("queries/tool_calls/find_caller.sql", sender.to_string(), recipient.get())
        .fetch_optional(&store.pool)
        .await?;
    Ok(found.map(|row| ToolCaller {
        agent: AgentId::from_uuid(row.agent),
        relation: RelationId::from_uuid(row.id),
    }))
}
