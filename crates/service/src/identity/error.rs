//! Why a request about an AID fails.

use guildhall_domain::identity::{RegistrationDenied, RenewalDenied, ReservedName};
use guildhall_domain::{Failure, FailureKind};
use guildhall_identity::pki::{InvalidPublicKey, IssuerError, SignError};

use crate::failures::server_error;

/// An error of an AID. None holds a key.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("this server is not an issuer of AIDs: the operator sets aun.issuer")]
    NotAnIssuer,
    #[error("the AID belongs to another issuer")]
    OtherIssuer,
    #[error(transparent)]
    Denied(#[from] RegistrationDenied),
    #[error("publicKey: {0}")]
    PublicKey(#[from] InvalidPublicKey),
    #[error("the AID exists already")]
    Exists,
    #[error(transparent)]
    Renewal(#[from] RenewalDenied),
    #[error("name: {0}")]
    Name(#[from] ReservedName),
    #[error("the revocation list is full: it would leave certificates out")]
    ListFull,
    #[error(
        "the issuer has no key for this yet: the operator runs `guildhall init` and copies secrets.folder to every replica"
    )]
    NoKey,
    #[error("another replica has other trusted roots: restart this one with the same version and files")]
    OtherRoots,
    #[error("the transparency log is not that long")]
    LogTooShort,
    #[error(
        "the transparency log does not continue its last signed head: entries or nodes were changed in the database"
    )]
    LogDamaged,
    #[error("cannot sign")]
    Sign(#[from] SignError),
    #[error("the certificate could not be signed")]
    Issuer(#[from] IssuerError),
}

impl IdentityError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::NotAnIssuer | Self::OtherIssuer | Self::NoKey | Self::LogTooShort => {
                Failure::new(FailureKind::NotFound, self.to_string())
            }
            Self::PublicKey(_) | Self::Name(_) => Failure::new(FailureKind::SchemaInvalid, self.to_string()),
            Self::Denied(denied) => Failure::new(FailureKind::TenantPolicyDenied, denied.to_string()),
            Self::Exists | Self::Renewal(_) => Failure::new(FailureKind::Conflict, self.to_string()),
            Self::Issuer(_) | Self::ListFull | Self::OtherRoots | Self::LogDamaged | Self::Sign(_) => {
                server_error()
            }
        }
    }
}
