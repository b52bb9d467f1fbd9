//! The senders of an inbox.

use guildhall_domain::identity::{Aid, ClientSlot};
use guildhall_domain::messages::{InboxId, InboxSeq, MessageKind, SenderState};
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};

use crate::inboxes::seq;
use crate::{Store, StoreError};

/// Which senders to list.
#[derive(Debug, Clone, Copy)]
pub struct SenderQuery<'a> {
    pub inbox: InboxId,
    pub instance: &'a ClientSlot,
    pub limit: u32,
    /// Kinds that the reader cannot open.
    pub without: &'a [MessageKind],
}

impl SenderQuery<'_> {
    fn without(&self) -> Vec<String> {
        self.without.iter().map(|kind| kind.as_str().to_owned()).collect()
    }
}

/// The columns of a sender.
struct Row {
    sender: i64,
    aid: String,
    head_seq: i64,
    ack_seq: i64,
    oldest_seq: Option<i64>,
    pending_seq: Option<i64>,
}

impl Row {
    fn into_state(self) -> Result<SenderState, StoreError> {
        Ok(SenderState {
            sender: InboxId::new(self.sender),
            aid: parse_aid(&self.aid)?,
            head: seq(self.head_seq),
            ack: seq(self.ack_seq),
            oldest: self.oldest_seq.map(seq),
            pending: self.pending_seq.map(seq),
        })
    }
}

/// Lists the senders after a sender.
pub async fn list(
    store: &Store,
    query: &SenderQuery<'_>,
    after: InboxId,
) -> Result<Vec<SenderState>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/inbox_senders/list.sql",
        query.inbox.get(),
        query.instance.device(),
        query.instance.slot_key(),
        after.get(),
        &query.without(),
        i64::from(query.limit)
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(Row::into_state).collect()
}

/// Lists senders with messages that the instance has not confirmed, first those whose last message is the oldest.
pub async fn list_pending(store: &Store, query: &SenderQuery<'_>) -> Result<Vec<SenderState>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/inbox_senders/list_pending.sql",
        query.inbox.get(),
        query.instance.device(),
        query.instance.slot_key(),
        &query.without(),
        i64::from(query.limit)
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(Row::into_state).collect()
}

/// Returns the last message of a sender, and the oldest that has not expired.
pub async fn find(
    store: &Store,
    inbox: InboxId,
    sender: InboxId,
) -> Result<(InboxSeq, Option<InboxSeq>), StoreError> {
    let row = sqlx::query_file!("queries/inbox_senders/find.sql", inbox.get(), sender.get())
        .fetch_one(&store.pool)
        .await?;
    Ok((seq(row.head_seq), row.oldest_seq.map(seq)))
}

/// Lists senders, of all or one, with messages in a range of an inbox, and the last of those messages.
pub async fn list_confirmed(
    store: &Store,
    inbox: InboxId,
    (after, to): (InboxSeq, InboxSeq),
    sender: Option<InboxId>,
    limit: u32,
) -> Result<Vec<(InboxId, Aid, InboxSeq)>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/inbox_senders/list_confirmed.sql",
        inbox.get(),
        after.get(),
        to.get(),
        sender.map_or(0, InboxId::get),
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(|row| Ok((InboxId::new(row.id), parse_aid(&row.aid)?, seq(row.newest)))).collect()
}

/// Deletes senders whose messages have all expired. Returns how many.
pub async fn delete_inactive(store: &Store, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!(
        "queries/inbox_senders/delete_inactive.sql",
        before.to_sqlx() as SqlTimestamp,
        i64::from(limit)
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected())
}

fn parse_aid(text: &str) -> Result<Aid, StoreError> {
    text.parse().map_err(|source: guildhall_domain::identity::InvalidAid| StoreError::Unreadable {
        column: "inboxes.aid",
        source: source.into(),
    })
}
