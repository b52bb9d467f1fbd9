//! Why an authority does not sign.

use super::signature::InvalidPublicKey;

/// A certificate, a list or a response could not be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IssuerError {
    #[error("the certificates of the issuer and its root do not belong together: {0}")]
    Chain(&'static str),
    #[error("a time is outside of the range of certificates")]
    Time,
    #[error("the certificate of the issuer has expired")]
    Expired,
    #[error("the AID belongs to another issuer")]
    OtherIssuer,
    #[error(transparent)]
    Key(#[from] InvalidPublicKey),
    #[error("cannot sign: {0}")]
    Sign(String),
}

impl IssuerError {
    pub(super) fn sign(error: impl std::fmt::Display) -> Self {
        Self::Sign(error.to_string())
    }
}
