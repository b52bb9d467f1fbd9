//! Append in a transaction: lock the head, find repeats, apply the rule, write.

use std::borrow::Cow;
use std::collections::BTreeMap;

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{
    AppendedEntry, Epoch, ExistingEntry, Fence, Head, Journal, Seq, Stream, plan_append,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::folds::{self, Folds};
use super::heads;
use super::request::{AppendError, AppendRequest};
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
    let mut folds = Folds::new();
    if plan.entries.iter().any(|appended| matches!(appended, AppendedEntry::New(_))) {
        let update = folds::update(connection, append, &plan.entries).await?;
        insert(connection, append, &plan.entries, &update.late).await?;
        heads::set(connection, append.stream, plan.head.last_seq).await?;
        folds = update.folds;
    }
    if let Fence::Holder(epoch) = append.fence
        && append.stream.journal == Journal::Run
    {
        renew_lease(connection, append.stream, epoch).await?;
    }
    Ok(AppendResult { head: plan.head, folds, entries: plan.entries })
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
        let same = row.kind == entry.kind && row.body.is_none_or(|body| entry.was_stored_as(&body));
        Some((id, ExistingEntry { seq: Seq::new(row.seq)?, same_body: same }))
    });
    Ok(existing.collect())
}

async fn insert(
    connection: &mut PgConnection,
    append: &AppendRequest,
    appended: &[AppendedEntry],
    late: &[bool],
) -> Result<(), StoreError> {
    let (mut seqs, mut ids) = (Vec::<i64>::new(), Vec::<Uuid>::new());
    let (mut kinds, mut bodies) = (Vec::<&str>::new(), Vec::<Cow<'_, str>>::new());
    for ((entry, appended), late) in append.entries.iter().zip(appended).zip(late) {
        let AppendedEntry::New(seq) = appended else { continue };
        seqs.push(seq.get());
        ids.push(entry.id.as_uuid());
        kinds.push(&entry.kind);
        bodies.push(entry.stored_body(*late));
    }
    let bodies: Vec<&str> = bodies.iter().map(AsRef::as_ref).collect();
    let Stream { journal, owner } = append.stream;
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
