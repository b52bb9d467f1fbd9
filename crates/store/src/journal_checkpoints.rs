//! Checkpoints of audit logs: signed hashes of their chains.

use guildhall_domain::access::audit_chain::{ChainTip, Digest};
use guildhall_domain::access::audit_checkpoint::{
    AuditKeyId, AuditLog, Checkpoint, CheckpointSignature, CheckpointStatement,
};
use guildhall_domain::journal::{Journal, Seq};
use jiff_sqlx::{Timestamp, ToSqlx};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Inserts a checkpoint of a log whose chain is locked.
pub async fn insert(tx: &mut Tx, checkpoint: &Checkpoint) -> Result<(), StoreError> {
    let Checkpoint { statement: CheckpointStatement { log, tip, signed_at }, key, signature } = checkpoint;
    let (journal, owner) = (Journal::Audit.number(), log.stream().owner);
    sqlx::query_file!(
        "queries/journal_checkpoints/insert.sql",
        journal,
        owner,
        tip.seq.get(),
        tip.hash.as_bytes().as_slice(),
        signed_at.to_sqlx() as Timestamp,
        key.as_bytes().as_slice(),
        signature.as_bytes().as_slice()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Lists the checkpoints of a log in a range of entries.
pub async fn list(
    store: &Store,
    log: AuditLog,
    first: Seq,
    last: Seq,
) -> Result<Vec<Checkpoint>, StoreError> {
    let (journal, owner) = (Journal::Audit.number(), log.stream().owner);
    let (first, last) = (first.get(), last.get());
    let rows = sqlx::query_file!("queries/journal_checkpoints/list.sql", journal, owner, first, last)
        .fetch_all(&store.pool)
        .await?;
    let checkpoints = rows.into_iter().map(|row| {
        let tip = tip(row.seq, &row.hash);
        checkpoint(
            CheckpointStatement { log, tip, signed_at: row.signed_at.to_jiff() },
            &row.key_id,
            &row.signature,
        )
    });
    Ok(checkpoints.collect())
}

/// Lists the last checkpoint of each log: at most `limit`, ordered by owner, starting at `from`.
pub async fn list_latest(store: &Store, from: Uuid, limit: u32) -> Result<Vec<Checkpoint>, StoreError> {
    let (journal, limit) = (Journal::Audit.number(), i64::from(limit));
    let rows = sqlx::query_file!("queries/journal_checkpoints/list_latest.sql", journal, from, limit)
        .fetch_all(&store.pool)
        .await?;
    let checkpoints = rows.into_iter().map(|row| {
        let (log, tip) = (AuditLog::of_owner(row.owner), tip(row.seq, &row.hash));
        checkpoint(
            CheckpointStatement { log, tip, signed_at: row.signed_at.to_jiff() },
            &row.key_id,
            &row.signature,
        )
    });
    Ok(checkpoints.collect())
}

// Check constraints guarantee the lengths.

fn tip(seq: i64, hash: &[u8]) -> ChainTip {
    let hash = hash.try_into().map_or(Digest::ZERO, Digest::from_bytes);
    ChainTip { seq: Seq::new(seq).unwrap_or_default(), hash }
}

fn checkpoint(statement: CheckpointStatement, key_id: &[u8], signature: &[u8]) -> Checkpoint {
    let key = AuditKeyId::from_bytes(key_id.try_into().unwrap_or_default());
    let signature = CheckpointSignature::from_bytes(signature.try_into().unwrap_or([0; 64]));
    Checkpoint { statement, key, signature }
}
