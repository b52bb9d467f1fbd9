//! Erasure of entry bodies. The entry itself keeps its place in the stream.

use guildhall_domain::journal::{Seq, Stream};

use crate::{StoreError, Tx};

/// Deletes the body of an entry. Returns `false` if it was already erased.
pub async fn erase(tx: &mut Tx, stream: Stream, seq: Seq) -> Result<bool, StoreError> {
    let Stream { journal, owner } = stream;
    let done = sqlx::query_file!("queries/journal/erase.sql", journal.number(), owner, seq.get())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}
