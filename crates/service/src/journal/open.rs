//! Open streams and where their readers start.

use guildhall_domain::journal::{Cursor, Entry, Gap, Incarnation, ResumePosition, Seq, Stream};
use guildhall_store::{Store, StoreError, journal, schema_state};

use super::{Follower, Journals};
use crate::ServiceError;

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

/// Returns the cursor of a stream's last entry.
pub(crate) async fn read_end(store: &Store, stream: Stream) -> Result<Cursor, StoreError> {
    let incarnation = schema_state::incarnation(store).await?;
    Ok(Cursor { incarnation, seq: read_last_seq(store, stream).await? })
}

/// An open stream of entries.
#[derive(Debug)]
pub(crate) struct EntryStream {
    start: StartPosition,
    follower: Follower,
}

impl EntryStream {
    /// Opens a stream after a cursor, or at its beginning.
    pub(crate) async fn open(
        store: &Store,
        journals: &Journals,
        stream: Stream,
        cursor: Option<Cursor>,
    ) -> Result<Self, StoreError> {
        let start = StartPosition::find(store, stream, cursor).await?;
        Ok(Self { start, follower: journals.follow(stream, start.after) })
    }

    /// Waits for the next entry. May be called again after an error; no entry is lost.
    pub(crate) async fn next(&mut self) -> Result<(Entry, Cursor), ServiceError> {
        let entry = self.follower.next().await?;
        let cursor = Cursor { incarnation: self.start.incarnation, seq: entry.seq };
        Ok((entry, cursor))
    }

    /// Returns why the cursor was unusable and the stream starts from the beginning.
    pub(crate) fn gap(&self) -> Option<Gap> {
        self.start.gap
    }

    /// Returns the seq where history ends, once all of it was returned.
    pub(crate) fn replayed(&self) -> Option<Seq> {
        (self.follower.position() >= self.start.last).then_some(self.start.last)
    }
}

/// Returns the seq of a stream's last entry.
pub(crate) async fn read_last_seq(store: &Store, stream: Stream) -> Result<Seq, StoreError> {
    Ok(journal::last_seqs(store, &[stream]).await?.remove(&stream).unwrap_or_default())
}
