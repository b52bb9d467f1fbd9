//! Why a message was not sent, or cannot be read.

use guildhall_domain::identity::{Aid, CertificateFingerprint};
use guildhall_identity::e2ee::{OpenError, PrekeyError, SealingError};
use guildhall_identity::trust::ServerProofError;

use super::store::DeviceStoreError;
use crate::socket::SocketError;

/// The identity key of somebody is not the one of the first contact.
///
/// Either its owner has made a new one, or somebody else answers in its name: only the owner can say which. The new key is used
/// after [`Messenger::accept_key`](super::Messenger::accept_key).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key of {aid} has changed: it was {pinned} at the first contact, and is {found} now")]
pub struct KeyChange {
    pub aid: Aid,
    pub pinned: CertificateFingerprint,
    pub found: CertificateFingerprint,
}

/// The server named keys for somebody that are not theirs, or none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerKeyError {
    #[error("there is no such certificate")]
    NoCertificate,
    #[error("the certificate is not one of this AID below a trusted root")]
    Certificate(#[source] ServerProofError),
    #[error("the server names another identity key than the one of the certificate")]
    OtherIdentityKey,
    #[error(
        "the server names a device `{device}` whose key the AID did not sign: somebody else could read the message there"
    )]
    UnsignedDevice {
        device: String,
        #[source]
        source: PrekeyError,
    },
    #[error("the server names no device, or too many")]
    DeviceCount,
    #[error("the server names a reader that is not a device of the recipient")]
    OtherReader,
}

/// A messenger could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum MessengerError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Store(#[from] DeviceStoreError),
    #[error(transparent)]
    KeyChanged(Box<KeyChange>),
    #[error("cannot trust the keys of {aid}")]
    Peer {
        aid: Aid,
        #[source]
        source: Box<PeerKeyError>,
    },
    #[error("cannot seal the message")]
    Sealing(#[source] SealingError),
    #[error(
        "the socket is connected as the device `{connected}`, and the keys are those of the device `{store}`"
    )]
    OtherDevice { connected: String, store: String },
}

/// Why a received message cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UnreadableReason {
    #[error("the server sent no message: {0}")]
    Row(&'static str),
    #[error(transparent)]
    Sealed(OpenError),
    #[error(transparent)]
    KeyChanged(KeyChange),
    #[error("the keys of its sender are not trusted")]
    Sender(#[source] PeerKeyError),
    #[error("the certificate of its sender cannot be fetched")]
    SenderUnavailable,
}

impl From<KeyChange> for MessengerError {
    fn from(change: KeyChange) -> Self {
        Self::KeyChanged(Box::new(change))
    }
}
