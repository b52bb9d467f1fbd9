//! Answers of agents that are sent when their turn has ended.

use std::time::Duration;

use guildhall_domain::identity::Aid;
use guildhall_domain::ids::{AgentId, CommandId, RunId, TenantId};
use guildhall_domain::messages::{InboxId, MessageId, MessageKind};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use uuid::Uuid;

use crate::agent_inboxes::{HostedAgent, parse_aid};
use crate::{Store, StoreError};

/// An answer to send later.
#[derive(Debug, Clone, Copy)]
pub struct NewAnswer<'a> {
    /// The turn.
    pub command: CommandId,
    pub agent: AgentId,
    /// The inbox of whoever has sent the message.
    pub recipient: InboxId,
    pub message: &'a MessageId,
    pub kind: MessageKind,
}

/// An answer whose turn has ended. This replica sends it.
#[derive(Debug, Clone)]
pub struct DueAnswer {
    pub command: CommandId,
    pub run: RunId,
    pub agent: HostedAgent,
    pub recipient: Aid,
    /// The message that it answers.
    pub message: MessageId,
    pub kind: MessageKind,
}

/// Inserts an answer, unless the turn has one.
pub async fn insert(store: &Store, new: &NewAnswer<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/agent_answers/insert.sql",
        new.command.as_uuid(),
        new.agent.as_uuid(),
        new.recipient.get(),
        new.message.as_str(),
        new.kind.as_str()
    )
    .execute(&store.pool)
    .await?;
    Ok(())
}

/// Claims answers whose turn has ended, for some time. Without `turns`, it looks at all of them.
pub async fn claim(
    store: &Store,
    turns: Option<&[CommandId]>,
    limit: u32,
    time: Duration,
) -> Result<Vec<DueAnswer>, StoreError> {
    let turns: Option<Vec<Uuid>> = turns.map(|turns| turns.iter().map(|turn| turn.as_uuid()).collect());
    let rows = sqlx::query_file!(
        "queries/agent_answers/claim.sql",
        turns.as_deref(),
        i64::from(limit),
        time.as_secs_f64()
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(DueAnswer {
                command: CommandId::from_uuid(row.command),
                run: RunId::from_uuid(row.run),
                agent: HostedAgent {
                    agent: AgentId::from_uuid(row.agent),
                    tenant: TenantId::from_uuid(row.tenant),
                    inbox: InboxId::new(row.inbox),
                    aid: parse_aid(&row.aid)?,
                },
                recipient: parse_aid(&row.recipient)?,
                message: row.message_id.parse().map_err(unreadable("agent_answers.message_id"))?,
                kind: MessageKind::from_name(&row.message_kind)
                    .map_err(unreadable("agent_answers.message_kind"))?,
            })
        })
        .collect()
}

pub async fn delete(store: &Store, command: CommandId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/agent_answers/delete.sql", command.as_uuid()).execute(&store.pool).await?;
    Ok(())
}

/// Deletes answers that were never sent, of turns from before a time.
pub async fn delete_old(store: &Store, before: Timestamp) -> Result<(), StoreError> {
    let before: jiff_sqlx::Timestamp = before.to_sqlx();
    sqlx::query_file!("queries/agent_answers/delete_old.sql", before as _).execute(&store.pool).await?;
    Ok(())
}

fn unreadable<E: std::error::Error + Send + Sync + 'static>(
    column: &'static str,
) -> impl Fn(E) -> StoreError {
    move |source| StoreError::Unreadable { column, source: Box::new(source) }
}
