//! Where a reader of a stream begins.

use guildhall_domain::journal::{Cursor, Gap, Incarnation, Position, Seq, Stream};
use guildhall_store::{Store, StoreError, journal, schema_state};

/// Where a reader begins, and where the stream ended then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) incarnation: Incarnation,
    pub(crate) after: Seq,
    /// Why the reader begins anew although it had a cursor.
    pub(crate) gap: Option<Gap>,
    /// Up to here it is history.
    pub(crate) last: Seq,
}

impl Opening {
    /// Decides where a reader begins: after its cursor, or at the beginning.
    pub(crate) async fn find(
        store: &Store,
        stream: Stream,
        cursor: Option<Cursor>,
    ) -> Result<Self, StoreError> {
        let incarnation = schema_state::incarnation(store).await?;
        let last = end(store, stream).await?;
        let position = cursor.map_or(Position::After(Seq::ZERO), |cursor| cursor.resume(incarnation, last));
        let (after, gap) = match position {
            Position::After(seq) => (seq, None),
            Position::Lost(gap) => (Seq::ZERO, Some(gap)),
        };
        Ok(Self { incarnation, after, gap, last })
    }
}

/// Returns the number of a stream's last entry.
pub(crate) async fn end(store: &Store, stream: Stream) -> Result<Seq, StoreError> {
    Ok(journal::last_seqs(store, &[stream]).await?.remove(&stream).unwrap_or_default())
}
