//! The changes of a run's workspace.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base64_bytes::Base64Bytes;

/// The changes of a workspace after a command.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutDiff {
    #[schema(example = "cmd_01920000000070008000000000000000")]
    pub command_id: String,
    /// A binary diff for `git apply`, at most 1 MiB before the encoding.
    pub diff: Base64Bytes,
}

/// The changes of a workspace since its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffView {
    pub run_id: String,
    /// The command after which the changes were collected.
    pub command_id: String,
    /// Size of the diff; 0 if nothing has changed.
    pub bytes: u64,
    /// A binary diff for `git apply`.
    pub diff: Base64Bytes,
    pub created_at: Timestamp,
}

/// The stored changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredDiffView {
    pub run_id: String,
    pub bytes: u64,
}

/// Confirms that the changes were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedDiffView {
    pub run_id: String,
    /// Always true.
    pub deleted: bool,
}
