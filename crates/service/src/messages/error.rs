//! Why a request about messages fails.

use guildhall_domain::identity::{Aid, CALL_SIGNATURE_WINDOW_SECS};
use guildhall_domain::messages::keys::InvalidKeyText;
use guildhall_domain::messages::{InvalidPayload, MAX_RECALLED};
use guildhall_domain::{Failure, FailureKind};
use guildhall_identity::e2ee::{ClientSignatureError, EnvelopeError, PrekeyError};

/// An error of a message. None holds content.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("no AID {0} is registered here")]
    UnknownAid(Aid),
    #[error("the AID belongs to another issuer: this server does not relay messages to other issuers")]
    OtherIssuer,
    #[error(transparent)]
    Payload(#[from] InvalidPayload),
    #[error("message_id: used for another message before; a message has an id of its own")]
    IdReused,
    #[error("too many messages are waiting to be stored; send again in a moment")]
    Overloaded,
    #[error("device_id and slot_id: expected those of this connection, or none")]
    OtherInstance,
    #[error("message_ids: expected 1 to {MAX_RECALLED} ids of messages")]
    RecallSize,
    #[error("aids: expected at most 100 AIDs")]
    TooManyAids,
    #[error(transparent)]
    KeyText(#[from] InvalidKeyText),
    #[error("the key of the device is not accepted: {0}")]
    DeviceKey(#[source] PrekeyError),
    #[error("peer_aid: a device can store keys of its own AID only")]
    OtherAid,
    #[error("the recipient's devices cannot open messages of this version of end-to-end encryption: {0}")]
    NoKeyOfVersion(&'static str),
    #[error(
        "the message is not sealed for the present keys of the recipient's devices: get their keys again, and seal it again"
    )]
    StaleKeys,
    #[error("the sealed message is not accepted: {0}")]
    Envelope(#[source] EnvelopeError),
    #[error(
        "the recipient has no active relation with an agent of this AID: only the recipient can grant one"
    )]
    RelationRequired,
    #[error(
        "delivery_mode.mode: calls of tools are stored until the recipient has them; send it without a mode"
    )]
    EphemeralToolCall,
    #[error("client_signature: {0}")]
    CallSignature(#[source] ClientSignatureError),
    #[error(
        "client_signature.timestamp: more than {CALL_SIGNATURE_WINDOW_SECS} seconds from the time of the server; set the clock of the device"
    )]
    CallSignatureTime,
}

impl MessageError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::UnknownAid(_) => FailureKind::NotFound,
            Self::OtherIssuer => FailureKind::TenantPolicyDenied,
            Self::Payload(InvalidPayload::TooLarge) => FailureKind::PayloadTooLarge,
            Self::Payload(InvalidPayload::NotSealed | InvalidPayload::Number | InvalidPayload::Copies(_))
            | Self::RecallSize
            | Self::TooManyAids
            | Self::KeyText(_) => FailureKind::SchemaInvalid,
            Self::Payload(InvalidPayload::ClearToolMessage) | Self::EphemeralToolCall => {
                FailureKind::InvalidInput
            }
            Self::RelationRequired => FailureKind::RelationRequired,
            Self::IdReused => FailureKind::IdempotencyConflict,
            Self::Overloaded => FailureKind::Overloaded,
            Self::OtherInstance | Self::OtherAid => FailureKind::Forbidden,
            Self::DeviceKey(_) | Self::Envelope(_) => FailureKind::InvalidInput,
            Self::NoKeyOfVersion(_) => FailureKind::Conflict,
            Self::StaleKeys => FailureKind::StaleKeys,
            Self::CallSignature(_) | Self::CallSignatureTime => FailureKind::InvalidSignature,
        };
        Failure::new(kind, self.to_string())
    }
}
