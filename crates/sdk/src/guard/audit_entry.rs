//! The entries of the audit log.

use guildhall_domain::agents::tool_calls::ToolStatus;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How long entries are kept.
pub const AUDIT_TIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How a call ended, or that it has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditStatus {
    /// The tool may have run, even if no other entry follows.
    Started,
    Ok,
    Error,
    Denied,
}

impl From<ToolStatus> for AuditStatus {
    fn from(status: ToolStatus) -> Self {
        match status {
            ToolStatus::Ok => Self::Ok,
            ToolStatus::Error => Self::Error,
            ToolStatus::Denied => Self::Denied,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolAuditEntry {
    pub call_id: String,
    pub agent_id: String,
    pub tool_name: String,
    pub scope: String,
    /// SHA-256 of the canonical arguments.
    pub arguments_digest: String,
    pub status: AuditStatus,
    pub timestamp: Timestamp,
}

pub(super) fn is_kept(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) < AUDIT_TIME
}
