//! Journal heads: the last sequence number and the epoch of each stream.

use std::collections::HashMap;

use guildhall_domain::journal::{Epoch, Head, Journal, Seq, Stream};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Locks a stream's head until the end of the transaction. Every writer of the described object locks it first.
pub async fn lock(tx: &mut Tx, stream: Stream) -> Result<Head, StoreError> {
    lock_with(tx.connection(), stream).await
}

/// Locks a stream's head, unless somebody else has locked it or it does not exist.
pub async fn try_lock(tx: &mut Tx, stream: Stream) -> Result<Option<Head>, StoreError> {
    let Stream { journal, owner } = stream;
    let row = sqlx::query_file!("queries/journal/try_lock_head.sql", journal.number(), owner)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| head(row.last_seq, row.epoch)))
}

/// Locks a head, and creates it for a new stream.
pub(super) async fn lock_with(connection: &mut PgConnection, stream: Stream) -> Result<Head, StoreError> {
    let Stream { journal, owner } = stream;
    loop {
        let row = sqlx::query_file!("queries/journal/lock_head.sql", journal.number(), owner)
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(row) = row {
            return Ok(head(row.last_seq, row.epoch));
        }
        sqlx::query_file!("queries/journal/insert_head.sql", journal.number(), owner)
            .execute(&mut *connection)
            .await?;
    }
}

/// Updates a locked head.
pub(super) async fn set(
    connection: &mut PgConnection,
    stream: Stream,
    last_seq: Seq,
) -> Result<(), StoreError> {
    let Stream { journal, owner } = stream;
    sqlx::query_file!("queries/journal/update_head.sql", journal.number(), owner, last_seq.get())
        .execute(connection)
        .await?;
    Ok(())
}

/// Reads heads without locking them. A stream without entries has none.
pub(super) async fn read(
    executor: impl PgExecutor<'_>,
    streams: impl Iterator<Item = &Stream>,
) -> Result<HashMap<Stream, Head>, StoreError> {
    let (journals, owners): (Vec<i16>, Vec<Uuid>) =
        streams.map(|stream| (stream.journal.number(), stream.owner)).unzip();
    let rows =
        sqlx::query_file!("queries/journal/list_heads.sql", &journals, &owners).fetch_all(executor).await?;
    let heads = rows.into_iter().filter_map(|row| {
        let journal = Journal::from_number(row.journal)?;
        Some((Stream { journal, owner: row.owner }, head(row.last_seq, row.epoch)))
    });
    Ok(heads.collect())
}

/// Returns the last sequence numbers of streams. One call serves all followers of a replica.
pub async fn last_seqs(store: &Store, streams: &[Stream]) -> Result<HashMap<Stream, Seq>, StoreError> {
    let (sessions, appended): (Vec<&Stream>, Vec<&Stream>) =
        streams.iter().partition(|stream| stream.journal == Journal::Session);
    let (journals, owners): (Vec<i16>, Vec<Uuid>) =
        appended.iter().map(|stream| (stream.journal.number(), stream.owner)).unzip();
    let sessions: Vec<Uuid> = sessions.iter().map(|stream| stream.owner).collect();
    let rows = sqlx::query_file!(
        "queries/journal/list_last_seqs.sql",
        &journals,
        &owners,
        &sessions,
        Journal::Session.number()
    )
    .fetch_all(&store.pool)
    .await?;
    let last_seqs = rows.into_iter().filter_map(|row| {
        let stream = Stream { journal: Journal::from_number(row.journal)?, owner: row.owner };
        Some((stream, Seq::new(row.last_seq)?))
    });
    Ok(last_seqs.collect())
}

/// Starts the next epoch of a stream. After the commit, writers of earlier epochs are rejected.
pub async fn take_over(tx: &mut Tx, stream: Stream) -> Result<Epoch, StoreError> {
    let Stream { journal, owner } = stream;
    let row = sqlx::query_file!("queries/journal/increment_epoch.sql", journal.number(), owner)
        .fetch_one(tx.connection())
        .await?;
    Ok(Epoch::new(row.epoch))
}

fn head(last_seq: i64, epoch: i64) -> Head {
    // A check constraint guarantees that the number is not negative.
    Head { last_seq: Seq::new(last_seq).unwrap_or_default(), epoch: Epoch::new(epoch) }
}
