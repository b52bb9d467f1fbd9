//! What a caller appends, and how an append fails.

use std::borrow::Cow;

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{AppendRejection, Fence, Stream};
use guildhall_domain::runs::event::ParsedEvent;

use crate::StoreError;

/// An entry to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub id: EntryId,
    pub kind: Cow<'static, str>,
    /// JSON, stored unchanged.
    pub body: String,
    /// The part that its run's folds use; `None` in journals without folds.
    pub parsed_event: Option<ParsedEvent>,
}

/// Entries for one stream, appended atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendRequest {
    pub stream: Stream,
    pub fence: Fence,
    pub entries: Vec<NewEntry>,
}

/// A failed append.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error(transparent)]
    Rejected(#[from] AppendRejection),
    /// The queue of the writer is full. Nothing was written.
    #[error("too many appends are waiting")]
    Overloaded,
    /// The store failed. If the connection was lost during the commit, the entries may have been written: append them
    /// again with the same ids, and repeats are recognised.
    #[error(transparent)]
    Store(#[from] StoreError),
}
