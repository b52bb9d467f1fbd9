//! Why a repository could not be fetched.

use std::sync::{Mutex, PoisonError};

use hyper::StatusCode;

/// Why a fetch failed. Messages contain no address and no credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchFailure {
    #[error(
        "the address of its host is not allowed: a private address must be in egress.allow (--git-network)"
    )]
    Blocked,
    #[error("its host cannot be reached")]
    Unreachable,
    #[error("its host wants a credential, or refused the one it got: set one for this host")]
    Refused,
    #[error("there is no such repository, or it needs a credential: set one for its host")]
    NotFound,
    #[error("it has moved: use its new URL")]
    Moved,
    #[error("it is too large")]
    TooLarge,
    #[error("its host answered with status {0}")]
    Status(u16),
    #[error(
        "the SSH key of its host is not known: add the host to the file git.known_hosts (--git-known-hosts), such as \
         with `ssh-keyscan`, and compare the key with what the host publishes"
    )]
    UnknownHostKey,
    #[error(
        "its host has another SSH key than the file git.known_hosts (--git-known-hosts) says: someone may intercept the \
         connection, or the host has a new key; compare it with what the host publishes"
    )]
    ChangedHostKey,
    #[error("ssh is not installed on the runner's machine: install the package openssh-client")]
    NoSsh,
    #[error(
        "the SSH key for its host cannot be used: it must be a private key without a passphrase, such as from \
         `ssh-keygen -t ed25519 -N ''`"
    )]
    InvalidSshKey,
    #[error("the git proxy cannot be started")]
    Proxy,
}

impl FetchFailure {
    /// Returns the failure of a response; `None` if it succeeded.
    pub(super) fn of_status(status: StatusCode) -> Option<Self> {
        match status {
            status if status.is_success() => None,
            status if status.is_redirection() => Some(Self::Moved),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Some(Self::Refused),
            StatusCode::NOT_FOUND | StatusCode::GONE => Some(Self::NotFound),
            status => Some(Self::Status(status.as_u16())),
        }
    }
}

/// The last failure of a proxy.
#[derive(Debug, Default)]
pub(super) struct LastFailure(Mutex<Option<FetchFailure>>);

impl LastFailure {
    pub(super) fn set(&self, failure: FetchFailure) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }

    /// Sets the failure, unless there is one that says more.
    pub(super) fn set_first(&self, failure: FetchFailure) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    pub(super) fn get(&self) -> Option<FetchFailure> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
