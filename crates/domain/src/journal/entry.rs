//! A journal entry as it is read.

use jiff::Timestamp;

use super::Seq;
use crate::ids::EntryId;

/// A stored journal entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: Seq,
    pub id: EntryId,
    pub kind: String,
    /// `None` if it was erased.
    pub body: Option<String>,
    pub recorded_at: Timestamp,
}
