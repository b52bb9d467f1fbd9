//! The seals of journals: the chain over a stream, written some time after its entries.

use guildhall_domain::access::audit_chain::{Digest, Seal, Tip};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Journal, Seq, Stream};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::journal::Entry;
use crate::{Store, StoreError, Tx};

/// A stream that reaches further than its seals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagging {
    pub stream: Stream,
    pub last_seq: Seq,
}

/// Finds streams of a journal with entries to seal: at most `limit`, by owner, beginning with `from`.
pub async fn find_unsealed(
    store: &Store,
    journal: Journal,
    from: Uuid,
    limit: u32,
) -> Result<Vec<Lagging>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/journal_seals/find_unsealed.sql",
        journal.number(),
        from,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    let lagging = rows.into_iter().map(|row| Lagging {
        stream: Stream { journal, owner: row.owner },
        last_seq: Seq::new(row.last_seq).unwrap_or_default(),
    });
    Ok(lagging.collect())
}

/// Takes the sealing of a stream until the end of the transaction, and returns where its chain ends; none when
/// somebody else has it.
pub async fn lock(tx: &mut Tx, stream: Stream) -> Result<Option<Tip>, StoreError> {
    let Stream { journal, owner } = stream;
    sqlx::query_file!("queries/journal_seals/open.sql", journal.number(), owner)
        .execute(tx.connection())
        .await?;
    let row = sqlx::query_file!("queries/journal_seals/lock.sql", journal.number(), owner)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| Tip { seq: Seq::new(row.sealed_seq).unwrap_or_default(), hash: digest(&row.hash) }))
}

/// Reads at most `limit` entries after a number as they are kept, in order.
pub async fn unsealed(tx: &mut Tx, stream: Stream, after: Seq, limit: u32) -> Result<Vec<Entry>, StoreError> {
    let Stream { journal, owner } = stream;
    let (after, limit) = (after.get(), i64::from(limit));
    let rows = sqlx::query_file!("queries/journal/page.sql", journal.number(), owner, after, limit)
        .fetch_all(tx.connection())
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

/// Writes seals that follow on a locked tip.
pub async fn write(tx: &mut Tx, stream: Stream, seals: &[Seal]) -> Result<(), StoreError> {
    let Stream { journal, owner } = stream;
    let Some(last) = seals.last() else { return Ok(()) };
    let seqs: Vec<i64> = seals.iter().map(|seal| seal.seq.get()).collect();
    let body_hashes: Vec<&[u8]> = seals.iter().map(|seal| seal.body_hash.as_bytes().as_slice()).collect();
    let hashes: Vec<&[u8]> = seals.iter().map(|seal| seal.hash.as_bytes().as_slice()).collect();
    sqlx::query_file!(
        "queries/journal_seals/insert.sql",
        journal.number(),
        owner,
        &seqs,
        &body_hashes as &[&[u8]],
        &hashes as &[&[u8]]
    )
    .execute(tx.connection())
    .await?;
    let (sealed_seq, hash) = (last.seq.get(), last.hash.as_bytes().as_slice());
    sqlx::query_file!("queries/journal_seals/move_head.sql", journal.number(), owner, sealed_seq, hash)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Returns the seals of the entries from one number to another, as far as there are any.
pub async fn range(store: &Store, stream: Stream, first: Seq, last: Seq) -> Result<Vec<Seal>, StoreError> {
    let Stream { journal, owner } = stream;
    let (first, last) = (first.get(), last.get());
    let rows = sqlx::query_file!("queries/journal_seals/range.sql", journal.number(), owner, first, last)
        .fetch_all(&store.pool)
        .await?;
    let seals = rows.into_iter().map(|row| Seal {
        seq: Seq::new(row.seq).unwrap_or_default(),
        body_hash: digest(&row.body_hash),
        hash: digest(&row.hash),
    });
    Ok(seals.collect())
}

fn digest(bytes: &[u8]) -> Digest {
    // The tables have a check: a hash has 32 bytes.
    bytes.try_into().map_or(Digest::ZERO, Digest::from_bytes)
}
