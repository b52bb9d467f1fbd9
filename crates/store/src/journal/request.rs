//! What a caller appends, and how an append fails.

use std::borrow::Cow;

use guildhall_domain::ids::{CommandId, EntryId};
use guildhall_domain::journal::{AppendRejection, Fence, Stream};
use guildhall_domain::runs::event::{self, ParsedEvent};

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

impl NewEntry {
    /// Returns the body to store: with a mark, if the entry is late.
    pub(super) fn stored_body(&self, late: bool) -> Cow<'_, str> {
        if late { event::mark_late(&self.body).into() } else { self.body.as_str().into() }
    }

    /// Returns whether this entry was stored with that body, perhaps as a late one.
    pub(super) fn was_stored_as(&self, body: &str) -> bool {
        body == self.body || body == self.stored_body(true)
    }
}

/// Entries for one stream, appended atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendRequest {
    pub stream: Stream,
    pub fence: Fence,
    pub entries: Vec<NewEntry>,
    /// The bytes that the bodies of the stream may use together; `None` for no limit. Only for runs.
    pub quota: Option<u64>,
}

/// A failed append.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error(transparent)]
    Rejected(#[from] AppendRejection),
    /// A runner named a command that its run does not have. Nothing was written.
    #[error("the run has no command {0}")]
    UnknownCommand(CommandId),
    /// The stream would use more bytes than its quota. Nothing was written.
    #[error("the quota of {0} bytes is used up")]
    QuotaExceeded(u64),
    /// The queue of the writer is full. Nothing was written.
    #[error("too many appends are waiting")]
    Overloaded,
    /// The store failed. If the connection was lost during the commit, the entries may have been written: append them
    /// again with the same ids, and repeats are recognised.
    #[error(transparent)]
    Store(#[from] StoreError),
}
