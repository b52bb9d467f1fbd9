//! Inboxes of agents that the server answers for.

use std::time::Duration;

use guildhall_domain::agents::inbox::AgentInbox;
use guildhall_domain::identity::{Aid, ClientSlot, InvalidAid};
use guildhall_domain::ids::{AgentId, TenantId};
use guildhall_domain::messages::{InboxId, InboxSeq, WorkSenders};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use uuid::Uuid;

use crate::inboxes::seq;
use crate::{Store, StoreError, Tx};

/// An agent that the server answers for.
#[derive(Debug, Clone)]
pub struct HostedAgent {
    pub agent: AgentId,
    pub tenant: TenantId,
    pub inbox: InboxId,
    pub aid: Aid,
}

/// An inbox that this replica may read for a while.
#[derive(Debug, Clone)]
pub struct ClaimedInbox {
    pub agent: HostedAgent,
    pub senders: WorkSenders,
    /// Everything up to here was read.
    pub read_to: InboxSeq,
}

/// An inbox to insert. Its AID is registered in the same transaction.
#[derive(Debug, Clone, Copy)]
pub struct NewAgentInbox<'a> {
    pub agent: AgentId,
    pub aid: &'a Aid,
    pub senders: WorkSenders,
}

/// Inserts the inbox of an agent, and opens the one of its AID. Returns false where the agent has one already.
pub async fn insert(tx: &mut Tx, new: &NewAgentInbox<'_>) -> Result<bool, StoreError> {
    let aid = new.aid.to_string();
    sqlx::query_file!("queries/inboxes/open.sql", aid).execute(tx.connection()).await?;
    let done =
        sqlx::query_file!("queries/agent_inboxes/insert.sql", new.agent.as_uuid(), aid, new.senders.as_str())
            .execute(tx.connection())
            .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn find(store: &Store, agent: AgentId) -> Result<Option<AgentInbox>, StoreError> {
    let row = sqlx::query_file!("queries/agent_inboxes/find.sql", agent.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    row.map(|row| agent_inbox(&row.aid, &row.senders)).transpose()
}

/// Sets whose messages start work. Returns none where the agent has no inbox.
pub async fn set_senders(
    tx: &mut Tx,
    agent: AgentId,
    senders: WorkSenders,
) -> Result<Option<AgentInbox>, StoreError> {
    let row = sqlx::query_file!("queries/agent_inboxes/set_senders.sql", agent.as_uuid(), senders.as_str())
        .fetch_optional(tx.connection())
        .await?;
    row.map(|row| agent_inbox(&row.aid, &row.senders)).transpose()
}

/// Returns whether an inbox is the one of an agent that the server answers for.
pub async fn is_hosted(store: &Store, inbox: InboxId) -> Result<bool, StoreError> {
    let found = sqlx::query_file_scalar!("queries/agent_inboxes/is_hosted.sql", inbox.get());
    Ok(found.fetch_one(&store.pool).await?)
}

/// Finds the agent that the server answers for under an AID.
pub async fn find_agent(tx: &mut Tx, aid: &Aid) -> Result<Option<AgentId>, StoreError> {
    let found = sqlx::query_file_scalar!("queries/agent_inboxes/find_agent.sql", aid.to_string());
    Ok(found.fetch_optional(tx.connection()).await?.map(AgentId::from_uuid))
}

/// Lists agents whose AID has not ended, after one of them.
pub async fn list_active(
    store: &Store,
    after: Option<AgentId>,
    limit: u32,
) -> Result<Vec<AgentId>, StoreError> {
    let after = after.map_or(Uuid::nil(), AgentId::as_uuid);
    let ids = sqlx::query_file_scalar!("queries/agent_inboxes/list_active.sql", after, i64::from(limit));
    Ok(ids.fetch_all(&store.pool).await?.into_iter().map(AgentId::from_uuid).collect())
}

/// Lists agents whose AID was revoked, the last ones first.
pub async fn list_revoked(store: &Store, limit: u32) -> Result<Vec<AgentId>, StoreError> {
    let ids = sqlx::query_file_scalar!("queries/agent_inboxes/list_revoked.sql", i64::from(limit));
    Ok(ids.fetch_all(&store.pool).await?.into_iter().map(AgentId::from_uuid).collect())
}

/// Lists encrypted keys that an earlier version has stored.
pub async fn list_sealed_keys(store: &Store, limit: u32) -> Result<Vec<(AgentId, Vec<u8>)>, StoreError> {
    let rows = sqlx::query_file!("queries/agent_inboxes/list_sealed_keys.sql", i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| (AgentId::from_uuid(row.agent), row.sealed_key)).collect())
}

/// Removes an encrypted key that is stored elsewhere now.
pub async fn clear_sealed_key(store: &Store, agent: AgentId, sealed: &[u8]) -> Result<(), StoreError> {
    sqlx::query_file!("queries/agent_inboxes/clear_sealed_key.sql", agent.as_uuid(), sealed)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Lists the inboxes of all agents.
pub async fn list_ids(store: &Store, limit: u32) -> Result<Vec<InboxId>, StoreError> {
    let ids = sqlx::query_file_scalar!("queries/agent_inboxes/list_ids.sql", i64::from(limit));
    Ok(ids.fetch_all(&store.pool).await?.into_iter().map(InboxId::new).collect())
}

/// Lists the AIDs of agents whose certificate ends before a time.
pub async fn list_expiring(store: &Store, before: Timestamp, limit: u32) -> Result<Vec<Aid>, StoreError> {
    let before: jiff_sqlx::Timestamp = before.to_sqlx();
    let aids =
        sqlx::query_file_scalar!("queries/agent_inboxes/list_expiring.sql", before as _, i64::from(limit));
    aids.fetch_all(&store.pool).await?.iter().map(|aid| parse_aid(aid)).collect()
}

/// Claims inboxes that are not read to their end, for some time. Without `inboxes`, it looks at all of them.
pub async fn claim(
    store: &Store,
    inboxes: Option<&[InboxId]>,
    instance: &ClientSlot,
    limit: u32,
    time: Duration,
) -> Result<Vec<ClaimedInbox>, StoreError> {
    let inboxes: Option<Vec<i64>> = inboxes.map(|inboxes| inboxes.iter().map(|inbox| inbox.get()).collect());
    let rows = sqlx::query_file!(
        "queries/agent_inboxes/claim.sql",
        inboxes.as_deref(),
        instance.device(),
        instance.slot_key(),
        i64::from(limit),
        time.as_secs_f64()
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(ClaimedInbox {
                agent: HostedAgent {
                    agent: AgentId::from_uuid(row.agent),
                    tenant: TenantId::from_uuid(row.tenant),
                    inbox: InboxId::new(row.inbox),
                    aid: parse_aid(&row.aid)?,
                },
                senders: senders(&row.senders),
                read_to: seq(row.read_to),
            })
        })
        .collect()
}

/// Gives a claimed inbox back, after a pause.
pub async fn release(store: &Store, agent: AgentId, pause: Duration) -> Result<(), StoreError> {
    sqlx::query_file!("queries/agent_inboxes/release.sql", agent.as_uuid(), pause.as_secs_f64())
        .execute(&store.pool)
        .await?;
    Ok(())
}

fn agent_inbox(aid: &str, name: &str) -> Result<AgentInbox, StoreError> {
    Ok(AgentInbox { aid: parse_aid(aid)?, senders: senders(name) })
}

/// An unknown name, written by a newer binary, allows the least.
fn senders(name: &str) -> WorkSenders {
    WorkSenders::from_name(name).unwrap_or(WorkSenders::Members)
}

pub(crate) fn parse_aid(aid: &str) -> Result<Aid, StoreError> {
    aid.parse().map_err(|source: InvalidAid| StoreError::Unreadable {
        column: "agent_inboxes.aid",
        source: Box::new(source),
    })
}
