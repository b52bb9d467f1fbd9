//! Webhooks of agents: which inbox each of them follows, and how far it was read.

use guildhall_domain::ids::{AgentId, WebhookId};
use guildhall_domain::messages::{InboxId, InboxSeq, MessageContent, MessageId, MessageKind};
use guildhall_domain::webhooks::agent_message::{AgentMessage, OWN_COPIES};
use guildhall_domain::webhooks::event::WebhookEventType;
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::agent_inboxes::parse_aid;
use crate::inboxes::seq;
use crate::{Store, StoreError, Tx};

/// A webhook that has not read its inbox to the end, locked until the end of the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehindWebhook {
    pub webhook: WebhookId,
    pub agent: AgentId,
    pub inbox: InboxId,
    pub read_to: InboxSeq,
    /// The end of the inbox.
    pub last_seq: InboxSeq,
    pub events: Vec<WebhookEventType>,
}

/// How many messages one read returns.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    pub messages: u32,
    /// Of payloads; one message is read in any case.
    pub bytes: u32,
}

/// Messages that were read together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadMessages {
    pub messages: Vec<AgentMessage>,
    /// The seq of the last one; none if there was none.
    pub read_to: Option<InboxSeq>,
}

/// Points webhooks at the inbox that their agent has now. Returns how many were moved.
pub async fn sync(store: &Store, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/agent_webhooks/sync.sql", i64::from(limit));
    Ok(done.execute(&store.pool).await?.rows_affected())
}

/// Skips what inboxes have got while they are not those of the agents. Returns for how many webhooks.
pub async fn skip_foreign(store: &Store, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/agent_webhooks/skip_foreign.sql", i64::from(limit));
    Ok(done.execute(&store.pool).await?.rows_affected())
}

/// Takes the inbox from the webhooks of an agent, whose AID is changed in this transaction.
pub async fn clear_inbox(tx: &mut Tx, agent: AgentId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/agent_webhooks/clear_inbox.sql", agent.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Lists the inboxes that webhooks follow.
pub async fn list_inboxes(store: &Store, limit: u32) -> Result<Vec<InboxId>, StoreError> {
    let ids = sqlx::query_file_scalar!("queries/agent_webhooks/list_inboxes.sql", i64::from(limit));
    Ok(ids.fetch_all(&store.pool).await?.into_iter().map(InboxId::new).collect())
}

/// Lists webhooks that have not read their inbox to the end, and are none of `except`. Those that waited longest come first.
pub async fn list_behind(
    store: &Store,
    except: &[WebhookId],
    limit: u32,
) -> Result<Vec<WebhookId>, StoreError> {
    let except: Vec<Uuid> = except.iter().map(|webhook| webhook.as_uuid()).collect();
    let ids = sqlx::query_file_scalar!("queries/agent_webhooks/list_behind.sql", &except, i64::from(limit));
    Ok(ids.fetch_all(&store.pool).await?.into_iter().map(WebhookId::from_uuid).collect())
}

/// Locks a webhook if it has not read its inbox to the end, and no other replica reads for it.
pub async fn lock_behind(tx: &mut Tx, webhook: WebhookId) -> Result<Option<BehindWebhook>, StoreError> {
    let row = sqlx::query_file!("queries/agent_webhooks/lock_behind.sql", webhook.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| BehindWebhook {
        webhook: WebhookId::from_uuid(row.webhook),
        agent: AgentId::from_uuid(row.agent),
        inbox: InboxId::new(row.inbox),
        read_to: seq(row.read_to),
        last_seq: seq(row.last_seq),
        events: row.events.iter().filter_map(|name| WebhookEventType::from_name(name).ok()).collect(),
    }))
}

/// Reads the messages that a webhook has not seen. One that this version cannot read, perhaps of a newer one, is left out: it must
/// not hold up those after it.
pub async fn list_messages(
    tx: &mut Tx,
    behind: &BehindWebhook,
    limits: ReadLimits,
) -> Result<ReadMessages, StoreError> {
    let without: Vec<String> = OWN_COPIES.iter().map(ToString::to_string).collect();
    let rows = sqlx::query_file!(
        "queries/agent_webhooks/list_messages.sql",
        behind.inbox.get(),
        behind.read_to.get(),
        i64::from(limits.messages),
        i64::from(limits.bytes),
        &without
    )
    .fetch_all(tx.connection())
    .await?;
    let read_to = rows.last().map(|row| seq(row.seq));
    let messages = rows.into_iter().filter_map(|row| {
        Some(AgentMessage {
            agent: behind.agent,
            agent_aid: parse_aid(&row.recipient).ok()?,
            from: parse_aid(&row.sender).ok()?,
            id: row.message_id.parse::<MessageId>().ok()?,
            seq: seq(row.seq),
            kind: MessageKind::from_name(&row.kind).ok()?,
            sent_at: row.sent_at.to_jiff(),
            content: row.payload.map_or(MessageContent::Recalled, MessageContent::Payload),
        })
    });
    Ok(ReadMessages { messages: messages.collect(), read_to })
}

/// Stores how far a webhook has read, and when.
pub async fn set_read_to(tx: &mut Tx, webhook: WebhookId, read_to: InboxSeq) -> Result<(), StoreError> {
    sqlx::query_file!("queries/agent_webhooks/set_read_to.sql", webhook.as_uuid(), read_to.get())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Notes that the program of a listener has asked for events. Returns false if the webhook is no listener.
pub async fn touch_listener(store: &Store, webhook: WebhookId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/agent_webhooks/touch.sql", webhook.as_uuid());
    Ok(done.execute(&store.pool).await?.rows_affected() == 1)
}

/// Deletes listeners whose program has not asked since a time. Their events are deleted later.
pub async fn delete_silent(store: &Store, before: jiff::Timestamp, limit: u32) -> Result<u64, StoreError> {
    let before = before.to_sqlx();
    let done =
        sqlx::query_file!("queries/agent_webhooks/delete_silent.sql", before as Timestamp, i64::from(limit));
    Ok(done.execute(&store.pool).await?.rows_affected())
}
