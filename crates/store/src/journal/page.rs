//! Reads entries of a stream.

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::{Journal, Seq, Stream};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, sessions};

/// Lists at most `limit` entries after a sequence number, in order.
pub async fn page(store: &Store, stream: Stream, after: Seq, limit: u32) -> Result<Vec<Entry>, StoreError> {
    let Stream { journal, owner } = stream;
    if journal == Journal::Session {
        return session_page(store, stream, after, limit).await;
    }
    let rows =
        sqlx::query_file!("queries/journal/list.sql", journal.number(), owner, after.get(), i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    let entries = rows.into_iter().map(|row| Entry {
        seq: Seq::new(row.seq).unwrap_or_default(),
        id: EntryId::from_uuid(row.id),
        kind: row.kind,
        body: row.body,
        recorded_at: row.recorded_at.to_jiff(),
    });
    Ok(entries.collect())
}

/// Kind of the entry that represents a run of a session; the entry has the run's id.
const RUN_STARTED: &str = "run_begun";

/// Lists the runs of a session as entries: the run's ordinal is the sequence number.
async fn session_page(
    store: &Store,
    stream: Stream,
    after: Seq,
    limit: u32,
) -> Result<Vec<Entry>, StoreError> {
    let after = i32::try_from(after.get()).unwrap_or(i32::MAX);
    let runs = sessions::list_runs(store, stream.owner, after, limit).await?;
    let entries = runs.into_iter().map(|run| Entry {
        seq: Seq::new(i64::from(run.ordinal)).unwrap_or_default(),
        id: EntryId::from_uuid(run.run.as_uuid()),
        kind: RUN_STARTED.to_owned(),
        body: None,
        recorded_at: run.at,
    });
    Ok(entries.collect())
}

/// Lists entries by their sequence numbers, in no particular order; missing ones are skipped.
pub async fn list_by_seqs(store: &Store, stream: Stream, seqs: &[Seq]) -> Result<Vec<Entry>, StoreError> {
    let Stream { journal, owner } = stream;
    let seqs: Vec<i64> = seqs.iter().map(|seq| seq.get()).collect();
    let rows = sqlx::query_file!("queries/journal/list_by_seqs.sql", journal.number(), owner, &seqs)
        .fetch_all(&store.pool)
        .await?;
    let entries = rows.into_iter().map(|row| Entry {
        seq: Seq::new(row.seq).unwrap_or_default(),
        id: EntryId::from_uuid(row.id),
        kind: row.kind,
        body: row.body,
        recorded_at: row.recorded_at.to_jiff(),
    });
    Ok(entries.collect())
}
