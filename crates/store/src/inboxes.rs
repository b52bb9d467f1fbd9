//! Inboxes of AIDs and their heads.

use std::collections::HashMap;

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::{InboxId, InboxSeq};
use jiff_sqlx::Timestamp;
use sqlx::PgConnection;

use crate::{Store, StoreError};

/// The heads of inboxes, locked until the end of the transaction.
#[derive(Debug, Clone)]
pub(crate) struct LockedHeads {
    pub(crate) last_seqs: HashMap<InboxId, InboxSeq>,
    /// The time of PostgreSQL, in whole milliseconds.
    pub(crate) now: jiff::Timestamp,
}

/// Returns the inbox of a registered AID; none where the AID does not exist.
pub async fn find_or_create(store: &Store, aid: &Aid) -> Result<Option<InboxId>, StoreError> {
    let aid = aid.to_string();
    if let Some(found) = find(store, &aid).await? {
        return Ok(Some(found));
    }
    sqlx::query_file!("queries/inboxes/open.sql", aid).execute(&store.pool).await?;
    find(store, &aid).await
}

async fn find(store: &Store, aid: &str) -> Result<Option<InboxId>, StoreError> {
    let row = sqlx::query_file!("queries/inboxes/find.sql", aid).fetch_optional(&store.pool).await?;
    Ok(row.map(|row| InboxId::new(row.id)))
}

/// Reads the ends of inboxes. One call serves all clients of a replica.
pub async fn last_seqs(store: &Store, inboxes: &[InboxId]) -> Result<HashMap<InboxId, InboxSeq>, StoreError> {
    let ids: Vec<i64> = inboxes.iter().map(|inbox| inbox.get()).collect();
    let rows = sqlx::query_file!("queries/inboxes/list_last_seqs.sql", &ids).fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| (InboxId::new(row.id), seq(row.last_seq))).collect())
}

/// Locks heads in the order of their ids.
pub(crate) async fn lock(connection: &mut PgConnection, inboxes: &[i64]) -> Result<LockedHeads, StoreError> {
    let rows = sqlx::query_file!("queries/inboxes/lock.sql", inboxes).fetch_all(connection).await?;
    let now = rows.iter().map(|row| row.now.to_jiff()).max().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let last_seqs = rows.into_iter().map(|row| (InboxId::new(row.id), seq(row.last_seq))).collect();
    Ok(LockedHeads { last_seqs, now })
}

/// A check constraint guarantees that the number is not negative.
pub(crate) fn seq(number: i64) -> InboxSeq {
    InboxSeq::new(number).unwrap_or_default()
}
