//! An append as a part of a transaction: lock the head, look for repeats, let the rule decide, write.

use std::collections::BTreeMap;

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Earlier, Epoch, Fence, Head, Journal, Placed, Seq, Stream, admit};
use sqlx::PgConnection;
use uuid::Uuid;

use super::folds::{self, Folds};
use super::{Append, AppendError, NewEntry, heads};
use crate::{StoreError, Tx};

/// Appends within a transaction. The head stays locked until its end, so seq order is commit order.
pub async fn append(tx: &mut Tx, append: &Append) -> Result<Vec<Placed>, AppendError> {
    Ok(append_on(tx.connection(), append).await?.placed)
}

/// What an append did.
pub(super) struct Appended {
    pub(super) head: Head,
    pub(super) folds: Folds,
    pub(super) placed: Vec<Placed>,
}

/// Appends over a connection that is inside a transaction.
pub(super) async fn append_on(
    connection: &mut PgConnection,
    append: &Append,
) -> Result<Appended, AppendError> {
    let head = heads::lock_on(connection, append.stream).await?;
    let earlier = find_earlier(connection, append).await?;
    let ids: Vec<EntryId> = append.entries.iter().map(|entry| entry.id).collect();
    let admission = admit(head, append.fence, &ids, &earlier)?;
    let fresh: Vec<(Seq, &NewEntry)> = admission
        .placed
        .iter()
        .zip(&append.entries)
        .filter_map(|(placed, entry)| is_new(*placed, entry))
        .collect();
    let mut folds = Folds::new();
    if !fresh.is_empty() {
        insert(connection, append.stream, &fresh).await?;
        heads::set(connection, append.stream, admission.head.last_seq).await?;
        folds = folds::write(connection, append, &admission.placed).await?;
    }
    if let Fence::Holder(epoch) = append.fence
        && append.stream.journal == Journal::Run
    {
        renew(connection, append.stream, epoch).await?;
    }
    Ok(Appended { head: admission.head, folds, placed: admission.placed })
}

fn is_new(placed: Placed, entry: &NewEntry) -> Option<(Seq, &NewEntry)> {
    match placed {
        Placed::New(seq) => Some((seq, entry)),
        Placed::Replay(_) => None,
    }
}

async fn find_earlier(
    connection: &mut PgConnection,
    append: &Append,
) -> Result<BTreeMap<EntryId, Earlier>, StoreError> {
    let Stream { journal, owner } = append.stream;
    let ids: Vec<Uuid> = append.entries.iter().map(|entry| entry.id.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/journal/find.sql", journal.number(), owner, &ids)
        .fetch_all(connection)
        .await?;
    let earlier = rows.into_iter().filter_map(|row| {
        let id = EntryId::from_uuid(row.id);
        let entry = append.entries.iter().find(|entry| entry.id == id)?;
        let same = row.kind == entry.kind && row.body.is_none_or(|body| body == entry.body);
        Some((id, Earlier { seq: Seq::new(row.seq)?, same }))
    });
    Ok(earlier.collect())
}

async fn insert(
    connection: &mut PgConnection,
    stream: Stream,
    fresh: &[(Seq, &NewEntry)],
) -> Result<(), StoreError> {
    let seqs: Vec<i64> = fresh.iter().map(|(seq, _)| seq.get()).collect();
    let ids: Vec<Uuid> = fresh.iter().map(|(_, entry)| entry.id.as_uuid()).collect();
    let kinds: Vec<&str> = fresh.iter().map(|(_, entry)| &*entry.kind).collect();
    let bodies: Vec<&str> = fresh.iter().map(|(_, entry)| entry.body.as_str()).collect();
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

/// Renews the lease of the runner that writes: who writes is alive.
async fn renew(connection: &mut PgConnection, stream: Stream, epoch: Epoch) -> Result<(), StoreError> {
    sqlx::query_file!("queries/leases/renew.sql", stream.owner, epoch.get()).execute(connection).await?;
    Ok(())
}
