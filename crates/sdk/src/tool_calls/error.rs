//! Errors of calls and of their guard.

use guildhall_domain::identity::Aid;

use crate::ClientError;
use crate::guard::{AuditLogError, InvalidGrant};
use crate::messages::{DeviceStoreError, MessengerError};
use crate::socket::SocketError;

/// A call that got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ToolCallError {
    #[error(transparent)]
    Messenger(#[from] MessengerError),
    #[error("the device of {0} did not answer in time; the tool may have run")]
    NoAnswer(Aid),
    #[error("too many calls wait for their answer")]
    TooManyCalls,
}

/// A guarded inbox has ended.
#[derive(Debug, thiserror::Error)]
pub enum GuardedInboxError {
    #[error(transparent)]
    Messenger(#[from] MessengerError),
    #[error("cannot ask the server for relations")]
    Relations(#[source] SocketError),
    /// What cannot be recorded does not run.
    #[error(transparent)]
    AuditLog(#[from] AuditLogError),
    #[error(transparent)]
    Store(#[from] DeviceStoreError),
    #[error("the grant of {aid} on this device cannot be used: grant it again")]
    Grant { aid: Aid, source: InvalidGrant },
    #[error("the manifest of {0} on this device cannot be read: grant it again")]
    StoredManifest(Aid),
}

/// A published manifest that nobody should agree to.
#[derive(Debug, thiserror::Error)]
pub enum PublishedManifestError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the manifest breaks {0} rules of manifests")]
    Invalid(usize),
    #[error("the manifest does not have the hash that the server names")]
    OtherHash,
}
