//! Errors of the guard.

use std::io;
use std::path::PathBuf;

use guildhall_domain::agents::tool_calls::CallId;

/// A manifest that nobody may agree to.
#[derive(Debug, thiserror::Error)]
#[error("the input schema of the tool {0} cannot be used")]
pub struct InvalidGrant(pub(super) String);

/// The audit log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct AuditLogError {
    pub(super) action: &'static str,
    pub(super) path: PathBuf,
    #[source]
    pub(super) source: io::Error,
}

/// A call that gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// It has its answer, or will get it: a message may arrive twice.
    #[error("a call {0} of this agent was handled before")]
    Replayed(CallId),
    /// An earlier process has taken it on and may have ended before it answered. It does not run again.
    #[error("the call {0} of this agent was interrupted by a restart")]
    Interrupted(CallId),
    /// What cannot be recorded does not run.
    #[error(transparent)]
    AuditLog(#[from] AuditLogError),
}
