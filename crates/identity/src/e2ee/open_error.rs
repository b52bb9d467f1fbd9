//! Why a message cannot be sealed or opened.

use super::agreement::AgreementError;
use super::cipher::CipherError;
use super::error::EnvelopeError;

/// A message was not opened. Its content is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It was damaged or changed, or is not from the sender that it names.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    #[error("the message is sealed for other devices")]
    OtherDevice,
    #[error("the message is sealed for another identity key of this AID")]
    OtherIdentityKey,
    #[error("this device does not have the key that the message is sealed for")]
    UnknownKey,
    #[error("the key of the message cannot be decrypted")]
    WrappedKey,
    #[error("the ciphertext of the message was changed")]
    Ciphertext,
    #[error("the headers of the message were changed")]
    Headers,
    #[error("the payload of the message is no object")]
    Payload,
    #[error(transparent)]
    Key(#[from] AgreementError),
}

/// A message was not sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealingError {
    #[error("the payload has a number that not every client reads exactly")]
    Payload,
    #[error("a name in the message is too long, or has control characters")]
    Names,
    #[error("a header of the message has a name that is not allowed, or is too long")]
    Headers,
    #[error("the message has no recipient, too many, or one twice")]
    Recipients,
    #[error(transparent)]
    Key(#[from] AgreementError),
    #[error("the message cannot be encrypted")]
    Cipher,
    #[error("the key of the sender did not sign the message")]
    Sign,
}

impl From<CipherError> for SealingError {
    fn from(_: CipherError) -> Self {
        Self::Cipher
    }
}
