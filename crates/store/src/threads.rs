//! Conversations under the ids of clients.

use guildhall_domain::front::ThreadKey;
use guildhall_domain::ids::{AgentId, CommandId, PrincipalId, RunId, SessionId, TenantId};
use jiff::civil::Date;
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// A conversation by the id of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub id: String,
    pub session: SessionId,
}

/// A message of a conversation: what a person has sent, or the reply of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadMessage {
    /// The turn.
    pub command: CommandId,
    pub run: RunId,
    pub at: jiff::Timestamp,
    /// Position in the conversation, from 1.
    pub seq: i64,
    /// The payload of the turn, as JSON; none for a reply.
    pub payload: Option<String>,
}

/// Returns the session of a thread.
pub async fn find(store: &Store, key: &ThreadKey<'_>) -> Result<Option<SessionId>, StoreError> {
    let (agent, owner) = (key.agent.as_uuid(), key.owner.as_uuid());
    let row = sqlx::query_file!("queries/threads/find.sql", agent, owner, key.thread.as_str())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| SessionId::from_uuid(row.session)))
}

/// Inserts a thread. Returns `false` if there is one already.
pub async fn insert(tx: &mut Tx, key: &ThreadKey<'_>, session: SessionId) -> Result<bool, StoreError> {
    let (agent, owner) = (key.agent.as_uuid(), key.owner.as_uuid());
    let row =
        sqlx::query_file!("queries/threads/insert.sql", agent, owner, key.thread.as_str(), session.as_uuid())
            .fetch_optional(tx.connection())
            .await?;
    Ok(row.is_some())
}

/// Returns the conversation that an owner has used last, with any agent of a tenant or with one of them.
pub async fn find_latest(
    store: &Store,
    owner: PrincipalId,
    tenant: TenantId,
    agent: Option<AgentId>,
) -> Result<Option<Thread>, StoreError> {
    let (owner, tenant, agent) = (owner.as_uuid(), tenant.as_uuid(), agent.map(AgentId::as_uuid));
    let row = sqlx::query_file!("queries/threads/find_latest.sql", owner, tenant, agent)
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| Thread { id: row.thread, session: SessionId::from_uuid(row.session) }))
}

/// Lists the messages of the newest day of a session, or of the newest one before a day, oldest first. Days are those of
/// UTC. If there are more than `limit`, the first ones are left out.
pub async fn list_day(
    store: &Store,
    session: SessionId,
    before: Option<Date>,
    limit: u32,
) -> Result<Vec<ThreadMessage>, StoreError> {
    let before = before.map(|day| day.to_string());
    let (session, limit) = (session.as_uuid(), i64::from(limit));
    let rows = sqlx::query_file!("queries/threads/list_day.sql", session, before, limit)
        .fetch_all(&store.pool)
        .await?;
    let messages = rows.into_iter().rev().map(|row| ThreadMessage {
        command: CommandId::from_uuid(row.command),
        run: RunId::from_uuid(row.run),
        at: row.at.to_jiff(),
        seq: row.seq,
        payload: row.payload,
    });
    Ok(messages.collect())
}
