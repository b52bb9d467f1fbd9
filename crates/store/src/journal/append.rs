//! Append in a transaction: lock the head, find repeats, apply the rule, write.

use std::collections::BTreeMap;

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{
    AppendedEntry, Epoch, ExistingEntry, Fence, Head, Journal, Seq, Stream, plan_append,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::folds::{self, Folds};
use super::heads;
use super::request::{AppendError, AppendRequest, NewEntry};
use crate::{StoreError, Tx};

/// Appends in a transaction. The head stays locked until its end, so sequence order is commit order.
pub async fn append(tx: &mut Tx, append: &AppendRequest) -> Result<Vec<AppendedEntry>, AppendError> {
    Ok(append_with(tx.connection(), append).await?.entries)
}

/// The result of an append.
pub(super) struct AppendResult {
    pub(super) head: Head,
    pub(super) folds: Folds,
    pub(super) entries: Vec<AppendedEntry>,
}

/// Appends on a connection with an open transaction.
pub(super) async fn append_with(
    connection: &mut PgConnection,
    append: &AppendRequest,
) -> Result<AppendResult, AppendError> {
    let head = heads::lock_with(connection, append.stream).await?;
    let existing = find_existing(connection, append).await?;
    let ids: Vec<EntryId> = append.entries.iter().map(|entry| entry.id).collect();
    let plan = plan_append(head, append.fence, &ids, &existing)?;
    let new_entries: Vec<(Seq, &NewEntry)> = plan
        .entries
        .iter()
        .zip(&append.entries)
        .filter_map(|(appended, entry)| new_entry(*appended, entry))
        .collect();
    let mut folds = Folds::new();
    if !new_entries.is_empty() {
        insert(connection, append.stream, &new_entries).await?;
        heads::set(connection, append.stream, plan.head.last_seq).await?;
        folds = folds::write(connection, append, &plan.entries).await?;
    }
    if let Fence::Holder(epoch) = append.fence
        && append.stream.journal == Journal::Run
    {
        renew_lease(connection, append.stream, epoch).await?;
    }
    Ok(AppendResult { head: plan.head, folds, entries: plan.entries })
}

fn new_entry(appended: AppendedEntry, entry: &NewEntry) -> Option<(Seq, &NewEntry)> {
    match appended {
        AppendedEntry::New(seq) => Some((seq, entry)),
        AppendedEntry::Replayed(_) => None,
    }
}

async fn find_existing(
    connection: &mut PgConnection,
    append: &AppendRequest,
) -> Result<BTreeMap<EntryId, ExistingEntry>, StoreError> {
    let Stream { journal, owner } = append.stream;
    let ids: Vec<Uuid> = append.entries.iter().map(|entry| entry.id.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/journal/find.sql", journal.number(), owner, &ids)
        .fetch_all(connection)
        .await?;
    let existing = rows.into_iter().filter_map(|row| {
        let id = EntryId::from_uuid(row.id);
        let entry = append.entries.iter().find(|entry| entry.id == id)?;
        let same = row.kind == entry.kind && row.body.is_none_or(|body| body == entry.body);
        Some((id, ExistingEntry { seq: Seq::new(row.seq)?, same_body: same }))
    });
    Ok(existing.collect())
}

async fn insert(
    connection: &mut PgConnection,
    stream: Stream,
    new_entries: &[(Seq, &NewEntry)],
) -> Result<(), StoreError> {
    let seqs: Vec<i64> = new_entries.iter().map(|(seq, _)| seq.get()).collect();
    let ids: Vec<Uuid> = new_entries.iter().map(|(_, entry)| entry.id.as_uuid()).collect();
    let kinds: Vec<&str> = new_entries.iter().map(|(_, entry)| &*entry.kind).collect();
    let bodies: Vec<&str> = new_entries.iter().map(|(_, entry)| entry.body.as_str()).collect();
    let Stream { journal, owner } = stream;
    sqlx::query_file!(
        "queries/journal/insert.sql",
        journal.number(),
        owner,
        &seqs,
        &ids,
        &kinds as &[&str],
        &bodies as &[&str]
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Renews the lease of the runner that writes, because a write proves that it is alive.
async fn renew_lease(connection: &mut PgConnection, stream: Stream, epoch: Epoch) -> Result<(), StoreError> {
    sqlx::query_file!("queries/leases/renew_if_due.sql", stream.owner, epoch.get())
        .execute(connection)
        .await?;
    Ok(())
}
