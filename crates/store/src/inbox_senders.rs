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
    /// Only those with messages that the instance has not confirmed.
    pub pending_only: bool,
    pub after: InboxId,
    pub limit: u32,
    /// Kinds that the reader cannot open.
    pub without: &'a [MessageKind],
}

pub async fn list(store: &Store, query: &SenderQuery<'_>) -> Result<Vec<SenderState>, StoreError> {
    let without: Vec<String> = query.without.iter().map(|kind| kind.as_str().to_owned()).collect();
    let rows = sqlx::query_file!(
        "queries/inbox_senders/list.sql",
        query.inbox.get(),
        query.instance.device(),
        query.instance.slot_key(),
        query.after.get(),
        !query.pending_only,
        &without,
        i64::from(query.limit)
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(SenderState {
                sender: InboxId::new(row.sender),
                aid: parse_aid(&row.aid)?,
                head: seq(row.head_seq),
                ack: seq(row.ack_seq),
                oldest: row.oldest_seq.map(seq),
                pending: row.pending_seq.map(seq),
            })
        })
        .collect()
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
