//! Errors of the socket.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_identity::trust::ServerProofError;
use guildhall_protocol::rpc::RpcError;

use crate::{ClientError, next_step_for};

/// A call, a login or a connection failed. Cheap to clone: all waiting calls get the reason of a lost connection.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SocketError {
    /// The server cannot be reached, or refused the connection before it became a socket.
    #[error(transparent)]
    Http(Arc<ClientError>),
    /// The server responded with an error. The call had no effect, unless the kind is `infra-failed` or `timeout`.
    #[error("{}", .0.message)]
    Failed(Box<RpcError>),
    /// The connection broke, or was closed, before the response came. The call may have been handled.
    #[error("the connection was lost before the response came: {reason}")]
    Lost { reason: String },
    /// No response came in time. The call may have been handled.
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// There was no connection in time. The call was not sent.
    #[error("not connected within {} s", .0.as_secs())]
    NotSent(Duration),
    /// The server sent something else than the protocol says.
    #[error("unexpected answer of the socket: {0}")]
    InvalidResponse(&'static str),
    #[error("the call has {bytes} bytes, and the server accepts {max}")]
    TooLarge { bytes: usize, max: usize },
    #[error("the parameters of the call cannot be written as JSON")]
    Parameters,
    /// The server did not prove that it belongs to the issuer of the AID.
    #[error("the server is not trusted: it gets no signature of this AID")]
    UntrustedServer(#[source] ServerProofError),
    /// The token source has no token, and will have none.
    #[error(transparent)]
    NoToken(Arc<dyn Error + Send + Sync>),
    /// The server ended the login of the AID. The client does not connect again.
    #[error("the server ended the connection for good: {reason}")]
    Ended { code: u16, reason: String },
    /// This client was closed.
    #[error("the socket client is closed")]
    Closed,
}

impl SocketError {
    pub(super) fn lost(reason: impl Into<String>) -> Self {
        Self::Lost { reason: reason.into() }
    }

    /// Returns the failure kind, if the server sent one that this client knows.
    #[must_use]
    pub fn kind(&self) -> Option<FailureKind> {
        match self {
            Self::Http(error) => error.kind(),
            Self::Failed(error) => FailureKind::from_name(&error.data.failure_kind),
            Self::Lost { .. }
            | Self::Timeout(_)
            | Self::NotSent(_)
            | Self::InvalidResponse(_)
            | Self::TooLarge { .. }
            | Self::Parameters
            | Self::UntrustedServer(_)
            | Self::NoToken(_)
            | Self::Ended { .. }
            | Self::Closed => None,
        }
    }

    /// Returns whether the same may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Http(error) => error.is_transient(),
            Self::Failed(error) => error.data.retryable,
            Self::Lost { .. } | Self::Timeout(_) | Self::NotSent(_) | Self::InvalidResponse(_) => true,
            Self::TooLarge { .. }
            | Self::Parameters
            | Self::UntrustedServer(_)
            | Self::NoToken(_)
            | Self::Ended { .. }
            | Self::Closed => false,
        }
    }

    /// Returns whether the server may have handled the call.
    #[must_use]
    pub fn may_have_been_handled(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::Timeout(_) => true,
            Self::Failed(_) => {
                matches!(
                    self.kind(),
                    Some(FailureKind::InfraFailed | FailureKind::Timeout | FailureKind::Internal)
                )
            }
            Self::Http(_)
            | Self::NotSent(_)
            | Self::InvalidResponse(_)
            | Self::TooLarge { .. }
            | Self::Parameters
            | Self::UntrustedServer(_)
            | Self::NoToken(_)
            | Self::Ended { .. }
            | Self::Closed => false,
        }
    }

    /// Returns how long the server asks to wait before a retry.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Http(error) => error.retry_after(),
            Self::Failed(error) => error.data.retry_after_ms.map(Duration::from_millis),
            Self::Lost { .. }
            | Self::Timeout(_)
            | Self::NotSent(_)
            | Self::InvalidResponse(_)
            | Self::TooLarge { .. }
            | Self::Parameters
            | Self::UntrustedServer(_)
            | Self::NoToken(_)
            | Self::Ended { .. }
            | Self::Closed => None,
        }
    }

    /// Returns a hint for the user what to do next.
    #[must_use]
    pub fn next_step(&self) -> String {
        let text = match self {
            Self::Http(error) => return error.next_step(),
            Self::Failed(error) => {
                let step = self.kind().map_or("ask the operator of the server", next_step_for);
                return format!("{step} (trace {})", error.data.trace_id);
            }
            Self::Lost { .. } | Self::Timeout(_) => {
                "check whether the call was handled before you repeat it, if it changes something"
            }
            Self::NotSent(_) => "check that the server is running and that you can reach it",
            Self::InvalidResponse(_) => "check that client and server have the same version",
            Self::TooLarge { .. } => "send less at a time",
            Self::Parameters => "send values that JSON has",
            Self::UntrustedServer(_) => "ask the operator for the fingerprint of the root, and compare it",
            Self::NoToken(_) | Self::Ended { .. } => "log the AID in again",
            Self::Closed => "open another connection",
        };
        text.to_owned()
    }
}

impl From<ClientError> for SocketError {
    fn from(error: ClientError) -> Self {
        Self::Http(Arc::new(error))
    }
}

impl From<RpcError> for SocketError {
    fn from(error: RpcError) -> Self {
        Self::Failed(Box::new(error))
    }
}
