//! The rings of inboxes: messages for one instance, for minutes.

use std::time::Duration;

use guildhall_domain::messages::{InboxId, InboxSeq, RING_SIZE};
use jiff::Timestamp;
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};

use crate::inboxes::seq;
use crate::{Store, StoreError};

/// What a ring has, and what it has dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingState {
    pub earliest: Option<InboxSeq>,
    pub dropped: u64,
}

/// Returns what the ring of an inbox has of a time until now.
pub async fn state(store: &Store, inbox: InboxId, lifetime: Duration) -> Result<RingState, StoreError> {
    let row = sqlx::query_file!(
        "queries/ring_messages/state.sql",
        inbox.get(),
        i64::from(RING_SIZE),
        lifetime.as_secs_f64()
    )
    .fetch_one(&store.pool)
    .await?;
    Ok(RingState { earliest: row.earliest.map(seq), dropped: u64::try_from(row.dropped).unwrap_or(0) })
}

/// Gives the messages that no instance has got to this one.
pub async fn assign(store: &Store, inbox: InboxId, device: &str, slot: &str) -> Result<(), StoreError> {
    sqlx::query_file!("queries/ring_messages/assign.sql", inbox.get(), device, slot)
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Deletes messages that nobody can read any more. Returns how many.
pub async fn delete_old(store: &Store, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let before = before.to_sqlx();
    let done =
        sqlx::query_file!("queries/ring_messages/delete_old.sql", before as SqlTimestamp, i64::from(limit))
            .execute(&store.pool)
            .await?;
    Ok(done.rows_affected())
}
