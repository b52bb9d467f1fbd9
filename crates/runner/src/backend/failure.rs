//! What goes wrong with a backend, in the words of the failure table.

use guildhall_domain::FailureKind;

/// Why a turn, or the start of a backend, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct BackendFailure {
    pub kind: FailureKind,
    /// For people; it may go to the server, and holds no secret and no address of a provider.
    pub message: String,
    /// Whether the process is gone: it must be started again, and the thread resumed.
    pub died: bool,
}

impl BackendFailure {
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), died: false }
    }

    #[must_use]
    pub fn dead(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::BackendFailed, message: message.into(), died: true }
    }
}

/// Why a backend does not do what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("this backend cannot do that")]
    Unable,
    #[error("no turn runs")]
    NoTurn,
    #[error("the backend did not answer in time")]
    Silent,
}
