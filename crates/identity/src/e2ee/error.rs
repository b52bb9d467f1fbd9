//! Why an envelope was not accepted.

use super::bounds::{MAX_ENVELOPE_BYTES, MAX_RECIPIENTS};
use super::exact_json::ExactJsonError;

/// An envelope was not accepted. Its content is not repeated, because it is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("the sealed message has more than {MAX_ENVELOPE_BYTES} bytes")]
    TooLong,
    #[error("the sealed message is not accepted as JSON")]
    Json(#[source] ExactJsonError),
    #[error("the member `{0}` of the sealed message is missing or invalid")]
    Member(&'static str),
    #[error("the value of `{0}` in the sealed message is not supported")]
    Unsupported(&'static str),
    #[error(
        "`{0}` in the sealed message differs from the message that it came in, or from the same value elsewhere in it"
    )]
    Mismatch(&'static str),
    #[error("the sealed message has no recipient, or more than {MAX_RECIPIENTS}")]
    RecipientCount,
    #[error("the recipients of the sealed message are not sorted, or repeat a device")]
    RecipientOrder,
    #[error("the sealed message is not for the recipient that it is sent to")]
    NoPeer,
    #[error(
        "recipient {row} of the sealed message is a device or a key that is not known: get the keys of the recipient again"
    )]
    UnknownRecipient {
        /// The number of the row or copy, from 0.
        row: usize,
    },
    #[error(
        "the sealed message is not for every device of the recipient: get the keys of the recipient again"
    )]
    MissingDevice,
    #[error("the digest of the recipients does not match them")]
    Digest,
    #[error("the sealed message was signed with another certificate than the one of its sender")]
    SenderCertificate,
    #[error("the signature of the sender is invalid")]
    Signature,
}
