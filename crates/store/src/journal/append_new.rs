//! Append of the server's own entries: their ids are new, so that none of them can be a repeat.

use std::borrow::Cow;

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::journal::{AppendedEntry, Fence, Head, Seq, Stream};
use guildhall_domain::runs::fold::Fold;
use sqlx::PgConnection;
use uuid::Uuid;

use super::folds::{self, FoldUpdate, Folds, Scope, StoredFolds};
use super::request::{AppendError, AppendRequest, NewEntry};
use crate::sessions::ActiveWork;
use crate::{StoreError, Tx};

/// Appends entries with new ids to a stream without folds, with one statement. The head stays locked until the end of the
/// transaction, so sequence order is commit order. Returns the last seq.
pub async fn append_new(tx: &mut Tx, stream: Stream, entries: &[NewEntry]) -> Result<Seq, StoreError> {
    insert(tx.connection(), stream, entries, &vec![false; entries.len()], &Folds::new(), None).await
}

/// What an append of events to a run goes with.
#[derive(Debug, Clone, Copy)]
pub struct RunUpdate<'a> {
    /// The head, which the caller has locked.
    pub head: Head,
    /// Folds that were read under that lock.
    pub folds: &'a StoredFolds,
    /// The work of the run's session, if it changes.
    pub active: Option<&'a ActiveWork>,
}

/// Appends events with new ids to a run and updates its session, with one statement. The caller holds the lock of its head, or has
/// just created the run. Returns the last seq, and the fold of the run, unless its format is unknown.
pub async fn append_new_to_run(
    tx: &mut Tx,
    stream: Stream,
    entries: Vec<NewEntry>,
    RunUpdate { head, folds: known, active }: RunUpdate<'_>,
) -> Result<(Seq, Option<Fold>), AppendError> {
    let seqs = (head.last_seq.get() + 1..).filter_map(Seq::new).map(AppendedEntry::New);
    let placed: Vec<AppendedEntry> = seqs.take(entries.len()).collect();
    let append = AppendRequest { stream, fence: Fence::Open, entries, quota: None };
    let mut changed = match head.last_seq {
        Seq::ZERO => folds::change_first(&append, &placed),
        _ => folds::change(tx.connection(), &append, &placed, known).await?,
    };
    let FoldUpdate { folds, late } = &changed;
    let last_seq = insert(tx.connection(), stream, &append.entries, late, folds, active).await?;
    Ok((last_seq, changed.folds.remove(&Scope::Run.as_uuid())))
}

async fn insert(
    connection: &mut PgConnection,
    Stream { journal, owner }: Stream,
    entries: &[NewEntry],
    late: &[bool],
    folds: &Folds,
    active: Option<&ActiveWork>,
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
        &folds,
        active.map(|active| active.session.as_uuid()),
        active.and_then(|active| active.run).map(RunId::as_uuid),
        active.and_then(|active| active.command).map(CommandId::as_uuid),
        active.map_or(0, |active| i64::from(active.ended)),
        active.and_then(|active| active.thread_id.as_deref())
    )
    .fetch_one(connection)
    .await?;
    Ok(Seq::new(row.last_seq).unwrap_or_default())
}
