//! The storage of a session as it is read.

use jiff::Timestamp;

use super::StorageKind;
use crate::ids::RunId;

/// Metadata of a session's storage, never its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStorage {
    pub kind: StorageKind,
    pub size_bytes: Option<i64>,
    pub files_count: Option<i64>,
    pub sha256: Option<String>,
    pub updated_at: Option<Timestamp>,
    pub evicted_at: Option<Timestamp>,
    /// When the owner of the storage reported it as removed.
    pub removed_at: Option<Timestamp>,
    pub active_run: Option<RunId>,
}

/// The summary that a runner reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageSummary<'a> {
    pub size_bytes: i64,
    pub files_count: i64,
    pub sha256: &'a str,
}
