//! Journal seals: the hash chain over a stream, written some time after its entries.

use guildhall_domain::access::audit_chain::{ChainTip, Digest, EntrySeal};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Journal, Seq, Stream};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};
use guildhall_domain::journal::Entry;

/// A stream with entries that are not sealed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsealedStream {
    pub stream: Stream,
    pub last_seq: Seq,
}

/// Which streams a sealer looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealFilter {
    /// Streams with unsealed entries.
    Unsealed,
    /// These, and streams whose last sealed entry is not signed.
    UnsealedOrUnsigned,
}

/// Finds marked streams of a journal that match: at most `limit`, ordered by owner, starting at `from`.
pub async fn find_unsealed(
    store: &Store,
    journal: Journal,
    filter: SealFilter,
    from: Uuid,
    limit: u32,
) -> Result<Vec<UnsealedStream>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/journal_seals/find_unsealed.sql",
        journal.number(),
        from,
        i64::from(limit),
        filter == SealFilter::UnsealedOrUnsigned
    )
    .fetch_all(&store.pool)
    .await?;
    let streams = rows.into_iter().map(|row| UnsealedStream {
        stream: Stream { journal, owner: row.owner },
        last_seq: Seq::new(row.last_seq).unwrap_or_default(),
    });
    Ok(streams.collect())
}

/// Marks the streams that match of one page of a journal, ordered by owner and starting at `from`, and removes the marks of all streams
/// that do not match. Returns the owner with which the page ended, if there may be more. An append marks its stream by itself; this
/// finds what was sealed for another filter, by another version, or changed by hand.
pub async fn mark_unsealed(
    store: &Store,
    journal: Journal,
    filter: SealFilter,
    from: Uuid,
    limit: u32,
) -> Result<Option<Uuid>, StoreError> {
    let with_unsigned = filter == SealFilter::UnsealedOrUnsigned;
    let last = sqlx::query_file_scalar!(
        "queries/journal_seals/mark_unsealed.sql",
        journal.number(),
        with_unsigned,
        from,
        i64::from(limit)
    )
    .fetch_optional(&store.pool)
    .await?;
    sqlx::query_file!("queries/journal_seals/unmark_sealed.sql", journal.number(), with_unsigned)
        .execute(&store.pool)
        .await?;
    Ok(last)
}

/// Removes the mark of a stream that is sealed up to its end. Appends wait from here to the commit, so this is the last step of a
/// transaction.
pub async fn unmark(tx: &mut Tx, stream: Stream, sealed: Seq) -> Result<(), StoreError> {
    let Stream { journal, owner } = stream;
    sqlx::query_file!("queries/journal_seals/unmark.sql", journal.number(), owner, sealed.get())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// The end of the sealed and of the signed part of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealHead {
    pub tip: ChainTip,
    pub signed_seq: Seq,
}

/// Locks the sealing of a stream until the end of the transaction. Returns `None` if another replica holds the lock.
pub async fn lock(tx: &mut Tx, stream: Stream) -> Result<Option<SealHead>, StoreError> {
    if let Some(head) = try_lock(tx, stream).await? {
        return Ok(Some(head));
    }
    // Locked, or the first time.
    let inserted =
        sqlx::query_file!("queries/journal_seals/insert_head.sql", stream.journal.number(), stream.owner)
            .execute(tx.connection())
            .await?;
    if inserted.rows_affected() == 0 { Ok(None) } else { try_lock(tx, stream).await }
}

async fn try_lock(tx: &mut Tx, stream: Stream) -> Result<Option<SealHead>, StoreError> {
    let Stream { journal, owner } = stream;
    let row = sqlx::query_file!("queries/journal_seals/lock_head.sql", journal.number(), owner)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| SealHead {
        tip: ChainTip { seq: Seq::new(row.sealed_seq).unwrap_or_default(), hash: digest(&row.hash) },
        signed_seq: Seq::new(row.signed_seq).unwrap_or_default(),
    }))
}

/// Lists at most `limit` stored entries after a sequence number, in order.
pub async fn list_unsealed(
    tx: &mut Tx,
    stream: Stream,
    after: Seq,
    limit: u32,
) -> Result<Vec<Entry>, StoreError> {
    let Stream { journal, owner } = stream;
    let (after, limit) = (after.get(), i64::from(limit));
    let rows = sqlx::query_file!("queries/journal/list.sql", journal.number(), owner, after, limit)
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

/// Inserts seals that continue a locked chain.
pub async fn insert(tx: &mut Tx, stream: Stream, seals: &[EntrySeal]) -> Result<(), StoreError> {
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
        &hashes as &[&[u8]],
        last.seq.get(),
        last.hash.as_bytes().as_slice()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Lists the existing seals of a range of entries.
pub async fn list(
    store: &Store,
    stream: Stream,
    first: Seq,
    last: Seq,
) -> Result<Vec<EntrySeal>, StoreError> {
    let Stream { journal, owner } = stream;
    let (first, last) = (first.get(), last.get());
    let rows = sqlx::query_file!("queries/journal_seals/list.sql", journal.number(), owner, first, last)
        .fetch_all(&store.pool)
        .await?;
    let seals = rows.into_iter().map(|row| EntrySeal {
        seq: Seq::new(row.seq).unwrap_or_default(),
        body_hash: digest(&row.body_hash),
        hash: digest(&row.hash),
    });
    Ok(seals.collect())
}

/// Returns the chain hash of an entry, if it is sealed.
pub async fn find_hash(tx: &mut Tx, stream: Stream, seq: Seq) -> Result<Option<Digest>, StoreError> {
    let (journal, owner, seq) = (stream.journal.number(), stream.owner, seq.get());
    let row = sqlx::query_file!("queries/journal_seals/list.sql", journal, owner, seq, seq)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| digest(&row.hash)))
}

fn digest(bytes: &[u8]) -> Digest {
    // A check constraint guarantees 32 bytes.
    bytes.try_into().map_or(Digest::ZERO, Digest::from_bytes)
}
