//! The changes of a run's workspace since its start.

use jiff::Timestamp;

use crate::ids::{CommandId, RunId};

/// Bytes of a diff. In JSON it fits into a request of the default size.
pub const MAX_DIFF_BYTES: usize = 1024 * 1024;

/// The changes of a workspace, as a binary diff for `git apply`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceDiff {
    pub run: RunId,
    /// The command after which the changes were collected.
    pub command: CommandId,
    /// Empty if nothing has changed.
    pub content: Vec<u8>,
    pub created_at: Timestamp,
}
