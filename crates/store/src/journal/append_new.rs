//! Append of the server's own entries: their ids are new, so that none of them can be a repeat.

use std::borrow::Cow;

use guildhall_domain::journal::{AppendedEntry, Fence, Head, Seq, Stream};
use guildhall_domain::runs::fold::Fold;
use sqlx::PgConnection;
use uuid::Uuid;

use super::folds::{self, Folds, Scope};
use super::request::{AppendError, AppendRequest, NewEntry};
use crate::{StoreError, Tx};

/// Appends entries with new ids to a stream without folds, with one statement. The head stays locked until the end of the
/// transaction, so sequence order is commit order. Returns the last seq.
pub async fn append_new(tx: &mut Tx, stream: Stream, entries: &[NewEntry]) -> Result<Seq, StoreError> {
    insert(tx.connection(), stream, entries, &vec![false; entries.len()], &Folds::new()).await
}

/// Appends events with new ids to a run. The caller holds the lock of its head, or has just created the run. Returns the
/// last seq, and the fold of the run, unless its format is unknown.
pub async fn append_new_to_run(
    tx: &mut Tx,
    stream: Stream,
    head: Head,
    entries: Vec<NewEntry>,
) -> Result<(Seq, Option<Fold>), AppendError> {
    let seqs = (head.last_seq.get() + 1..).filter_map(Seq::new).map(AppendedEntry::New);
    let placed: Vec<AppendedEntry> = seqs.take(entries.len()).collect();
    let append = AppendRequest { stream, fence: Fence::Open, entries, quota: None };
    let mut changed = match head.last_seq {
        Seq::ZERO => folds::change_first(&append, &placed),
        _ => folds::change(tx.connection(), &append, &placed).await?,
    };
    let last_seq = insert(tx.connection(), stream, &append.entries, &changed.late, &changed.folds).await?;
    Ok((last_seq, changed.folds.remove(&Scope::Run.as_uuid())))
}

async fn insert(
    connection: &mut PgConnection,
    Stream { journal, owner }: Stream,
    entries: &[NewEntry],
    late: &[bool],
    folds: &Folds,
) -> Result<Seq, StoreError> {
    let ids: Vec<Uuid> = entries.iter().map(|entry| entry.id.as_uuid()).collect();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.kind.as_ref()).collect();
    let bodies: Vec<Cow<'_, str>> =
        entries.iter().zip(late).map(|(entry, late)| entry.stored_body(*late)).collect();
    let bodies: Vec<&str> = bodies.iter().map(AsRef::as_ref).collect();
    let (scopes, folds): (Vec<Uuid>, Vec<String>) =
        folds.iter().map(|(scope, fold)| (*scope, fold.to_json())).unzip();
    let row = sqlx::query_file!(
        "queries/journal/append_new.sql",
        journal.number(),
        owner,
        &ids,
        &kinds as &[&str],
        &bodies as &[&str],
        &scopes,
        &folds
    )
    .fetch_one(connection)
    .await?;
    Ok(Seq::new(row.last_seq).unwrap_or_default())
}
