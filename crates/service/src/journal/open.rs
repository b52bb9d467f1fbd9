//! Start positions of stream readers.

use guildhall_domain::journal::{Cursor, Gap, Incarnation, ResumePosition, Seq, Stream};
use guildhall_store::{Store, StoreError, journal, schema_state};

/// Where a reader of a stream starts, and where the stream ended at that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartPosition {
    pub(crate) incarnation: Incarnation,
    pub(crate) after: Seq,
    /// Why the cursor was unusable and the reader starts at the beginning.
    pub(crate) gap: Option<Gap>,
    /// The last seq of history; later entries are live.
    pub(crate) last: Seq,
}

impl StartPosition {
    /// Decides where a reader starts: after its cursor, or at the beginning.
    pub(crate) async fn find(
        store: &Store,
        stream: Stream,
        cursor: Option<Cursor>,
    ) -> Result<Self, StoreError> {
        let incarnation = schema_state::incarnation(store).await?;
        let last = read_last_seq(store, stream).await?;
        let position =
            cursor.map_or(ResumePosition::After(Seq::ZERO), |cursor| cursor.resume(incarnation, last));
        let (after, gap) = match position {
            ResumePosition::After(seq) => (seq, None),
            ResumePosition::Gap(gap) => (Seq::ZERO, Some(gap)),
        };
        Ok(Self { incarnation, after, gap, last })
    }
}

/// Returns the seq of a stream's last entry.
pub(crate) async fn read_last_seq(store: &Store, stream: Stream) -> Result<Seq, StoreError> {
    Ok(journal::last_seqs(store, &[stream]).await?.remove(&stream).unwrap_or_default())
}
