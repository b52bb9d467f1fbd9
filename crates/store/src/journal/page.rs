//! Reading a stream page by page.

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Journal, Seq, Stream};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, sessions};

/// An entry as it stands in a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: Seq,
    pub id: EntryId,
    pub kind: String,
    /// What it says; none when it was erased.
    pub body: Option<String>,
    pub recorded_at: jiff::Timestamp,
}

/// Reads at most `limit` entries after a number, in order.
pub async fn page(store: &Store, stream: Stream, after: Seq, limit: u32) -> Result<Vec<Entry>, StoreError> {
    let Stream { journal, owner } = stream;
    if journal == Journal::Session {
        return runs_of_session(store, stream, after, limit).await;
    }
    let rows =
        sqlx::query_file!("queries/journal/page.sql", journal.number(), owner, after.get(), i64::from(limit))
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

/// The kind of an entry that stands for a run of a session; its id is the run's.
const RUN_BEGUN: &str = "run_begun";

/// Reads the runs of a session as entries: a run's number is its seq.
async fn runs_of_session(
    store: &Store,
    stream: Stream,
    after: Seq,
    limit: u32,
) -> Result<Vec<Entry>, StoreError> {
    let after = i32::try_from(after.get()).unwrap_or(i32::MAX);
    let begun = sessions::begun(store, stream.owner, after, limit).await?;
    let entries = begun.into_iter().map(|begun| Entry {
        seq: Seq::new(i64::from(begun.ordinal)).unwrap_or_default(),
        id: EntryId::from_uuid(begun.run.as_uuid()),
        kind: RUN_BEGUN.to_owned(),
        body: None,
        recorded_at: begun.at,
    });
    Ok(entries.collect())
}

/// Reads single entries, by their numbers, in no order; those that are not there are left out.
pub async fn pick(store: &Store, stream: Stream, seqs: &[Seq]) -> Result<Vec<Entry>, StoreError> {
    let Stream { journal, owner } = stream;
    let seqs: Vec<i64> = seqs.iter().map(|seq| seq.get()).collect();
    let rows = sqlx::query_file!("queries/journal/pick.sql", journal.number(), owner, &seqs)
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
