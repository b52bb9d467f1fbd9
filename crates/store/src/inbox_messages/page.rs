//! Pages of messages.

use std::time::Duration;

use guildhall_domain::messages::{
    DeliveryMode, InboxId, InboxMessage, InboxSeq, MAX_PAGE_BYTES, MessageContent, MessageKind, PageLimit,
    RING_SIZE,
};
use jiff_sqlx::Timestamp as SqlTimestamp;

use crate::inboxes::seq;
use crate::{Store, StoreError};

/// What an instance reads of its inbox.
#[derive(Debug, Clone, Copy)]
pub struct PageQuery<'a> {
    pub inbox: InboxId,
    pub after: InboxSeq,
    pub limit: PageLimit,
    pub device: &'a str,
    pub slot: &'a str,
    /// How long messages of the mode `queue` can be read, by the time of PostgreSQL.
    pub queue_lifetime: Duration,
}

/// What an instance reads of one sender.
#[derive(Debug, Clone, Copy)]
pub struct SenderPageQuery<'a> {
    pub inbox: InboxId,
    pub sender: InboxId,
    pub after: InboxSeq,
    pub limit: PageLimit,
    /// Kinds that the reader cannot open.
    pub without: &'a [MessageKind],
}

/// A new message, and the one instance that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceMessage {
    pub message: InboxMessage,
    pub instance: Option<(String, String)>,
}

/// The columns of a message.
struct Row {
    inbox: i64,
    seq: i64,
    message_id: String,
    kind: String,
    envelope_type: String,
    previous_seq: i64,
    mode: String,
    sent_at: SqlTimestamp,
    payload: Option<String>,
    sender: String,
    recipient: String,
}

impl Row {
    fn into_message(self) -> Result<InboxMessage, StoreError> {
        Ok(InboxMessage {
            inbox: InboxId::new(self.inbox),
            seq: seq(self.seq),
            previous_of_sender: seq(self.previous_seq),
            id: self.message_id.parse().map_err(unreadable("inbox_messages.message_id"))?,
            from: self.sender.parse().map_err(unreadable("inboxes.aid"))?,
            to: self.recipient.parse().map_err(unreadable("inboxes.aid"))?,
            kind: MessageKind::from_name(&self.kind).map_err(unreadable("inbox_messages.kind"))?,
            envelope_type: self.envelope_type,
            mode: DeliveryMode::from_name(&self.mode).map_err(unreadable("mode"))?,
            sent_at: self.sent_at.to_jiff(),
            content: self.payload.map_or(MessageContent::Recalled, MessageContent::Payload),
        })
    }
}

fn unreadable<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    column: &'static str,
) -> impl FnOnce(E) -> StoreError {
    move |source| StoreError::Unreadable { column, source: source.into() }
}

/// Reads the messages after a seq, of both delivery modes.
pub async fn page(store: &Store, query: &PageQuery<'_>) -> Result<Vec<InboxMessage>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/inbox_messages/page.sql",
        query.inbox.get(),
        query.after.get(),
        i64::from(query.limit.get()),
        page_bytes(),
        query.device,
        query.slot,
        i64::from(RING_SIZE),
        query.queue_lifetime.as_secs_f64()
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(Row::into_message).collect()
}

/// Reads the durable messages of one sender after a seq.
pub async fn page_of_sender(
    store: &Store,
    query: &SenderPageQuery<'_>,
) -> Result<Vec<InboxMessage>, StoreError> {
    let without: Vec<String> = query.without.iter().map(|kind| kind.as_str().to_owned()).collect();
    let rows = sqlx::query_file_as!(
        Row,
        "queries/inbox_messages/page_of_sender.sql",
        query.inbox.get(),
        query.sender.get(),
        query.after.get(),
        i64::from(query.limit.get()),
        page_bytes(),
        &without
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(Row::into_message).collect()
}

/// Reads new messages of several inboxes, each after a seq, with one statement.
pub async fn list_new(
    store: &Store,
    inboxes: &[(InboxId, InboxSeq)],
    limit: u32,
) -> Result<Vec<InstanceMessage>, StoreError> {
    let (ids, after): (Vec<i64>, Vec<i64>) =
        inboxes.iter().map(|(inbox, after)| (inbox.get(), after.get())).unzip();
    let rows = sqlx::query_file!(
        "queries/inbox_messages/list_new.sql",
        &ids,
        &after,
        i64::from(limit),
        page_bytes()
    )
    .fetch_all(&store.pool)
    .await?;
    let message = |row: ListNewRow| -> Result<InstanceMessage, StoreError> {
        let (instance, row) = row.split();
        Ok(InstanceMessage { message: row.into_message()?, instance })
    };
    rows.into_iter()
        .map(|row| ListNewRow {
            row: Row {
                inbox: row.inbox,
                seq: row.seq,
                message_id: row.message_id,
                kind: row.kind,
                envelope_type: row.envelope_type,
                previous_seq: row.previous_seq,
                mode: row.mode,
                sent_at: row.sent_at,
                payload: row.payload,
                sender: row.sender,
                recipient: row.recipient,
            },
            device: row.device,
            slot: row.slot,
        })
        .map(message)
        .collect()
}

/// A message with its instance.
struct ListNewRow {
    row: Row,
    device: Option<String>,
    slot: Option<String>,
}

impl ListNewRow {
    fn split(self) -> (Option<(String, String)>, Row) {
        (self.device.zip(self.slot), self.row)
    }
}

fn page_bytes() -> i64 {
    i64::try_from(MAX_PAGE_BYTES).unwrap_or(i64::MAX)
}
