//! Erasure: what an entry said goes, that it was there stays.

use guildhall_domain::journal::{Seq, Stream};

use crate::{StoreError, Tx};

/// Replaces what an entry says by nothing. Returns whether it said something before.
pub async fn erase(tx: &mut Tx, stream: Stream, seq: Seq) -> Result<bool, StoreError> {
    let Stream { journal, owner } = stream;
    let done = sqlx::query_file!("queries/journal/erase.sql", journal.number(), owner, seq.get())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}
