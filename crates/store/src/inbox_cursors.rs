//! How far the instances of an AID have confirmed their inbox.

use guildhall_domain::identity::ClientSlot;
use guildhall_domain::messages::{InboxId, InboxSeq};
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};

use crate::inboxes::seq;
use crate::{Store, StoreError};

/// Stands for all senders.
const ALL_SENDERS: i64 = 0;

/// A cursor before and after a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedCursor {
    pub earlier: InboxSeq,
    pub ack_seq: InboxSeq,
}

/// Moves a cursor forward, over all senders or for one. It never goes back.
pub async fn advance(
    store: &Store,
    inbox: InboxId,
    instance: &ClientSlot,
    sender: Option<InboxId>,
    to: InboxSeq,
) -> Result<MovedCursor, StoreError> {
    let row = sqlx::query_file!(
        "queries/inbox_cursors/advance.sql",
        inbox.get(),
        instance.device(),
        instance.slot_key(),
        sender.map_or(ALL_SENDERS, InboxId::get),
        to.get()
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(MovedCursor { earlier: seq(row.earlier), ack_seq: seq(row.ack_seq) })
}

/// Returns how far an instance has confirmed a sender, or everything.
pub async fn find(
    store: &Store,
    inbox: InboxId,
    instance: &ClientSlot,
    sender: Option<InboxId>,
) -> Result<InboxSeq, StoreError> {
    let row = sqlx::query_file!(
        "queries/inbox_cursors/find.sql",
        inbox.get(),
        instance.device(),
        instance.slot_key(),
        sender.map_or(ALL_SENDERS, InboxId::get)
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(seq(row.ack_seq))
}

/// Notes that an instance reads its inbox, and forgets those that were not seen for longest beyond a number.
pub async fn see_instance(
    store: &Store,
    inbox: InboxId,
    instance: &ClientSlot,
    max_instances: u32,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (device, slot) = (instance.device(), instance.slot_key());
    let seen = sqlx::query_file!(
        "queries/inbox_cursors/see_instance.sql",
        inbox.get(),
        device,
        slot,
        now.to_sqlx() as SqlTimestamp
    )
    .execute(&store.pool)
    .await?;
    if seen.rows_affected() == 0 {
        return Ok(());
    }
    let others = i64::from(max_instances.saturating_sub(1));
    sqlx::query_file!("queries/inbox_cursors/delete_surplus.sql", inbox.get(), others, device, slot)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Deletes instances that were not seen since a day. Returns how many.
pub async fn delete_unused(store: &Store, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!(
        "queries/inbox_cursors/delete_unused.sql",
        before.to_sqlx() as SqlTimestamp,
        i64::from(limit)
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected())
}
