//! Failures of a backend.

use guildhall_domain::FailureKind;

/// Why a turn, or the start of a backend, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct BackendFailure {
    pub kind: FailureKind,
    /// Shown to users and sent to the server: it contains no secret and no provider address.
    pub message: String,
    /// Whether the process is gone: it must be started again and the thread resumed.
    pub died: bool,
}

impl BackendFailure {
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), died: false }
    }

    /// The message has images, and the agent takes none.
    #[must_use]
    pub fn images_unsupported() -> Self {
        Self::new(FailureKind::InvalidInput, "this agent takes no images: send the message without them")
    }

    /// The process exited, or can no longer be used.
    #[must_use]
    pub fn died(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::BackendFailed, message: message.into(), died: true }
    }
}
