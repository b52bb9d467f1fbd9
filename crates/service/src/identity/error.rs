//! Why a request about an AID fails.

use guildhall_domain::identity::{
    LoginCertificateError, LoginChallengeError, RegistrationDenied, RenewalDenied, ReservedName,
};
use guildhall_domain::{Failure, FailureKind};
use guildhall_identity::login_challenge::UnknownChallenge;
use guildhall_identity::pki::{CertificateError, InvalidPublicKey, InvalidSignature, IssuerError, SignError};

use super::key_store::AgentKeyError;
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
    #[error("the AID already exists")]
    Exists,
    #[error("owner: no user has this id, or the user is disabled")]
    NoSuchOwner,
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
    #[error(transparent)]
    Login(#[from] AidLoginError),
    #[error("new_public_key: the AID has or had this key: generate a new one")]
    EarlierKey,
    #[error("the server cannot use the key of the agent: its log says why")]
    AgentKey(#[from] AgentKeyError),
}

/// Why an AID does not log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AidLoginError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    State(#[from] LoginCertificateError),
    #[error(transparent)]
    UnknownChallenge(#[from] UnknownChallenge),
    #[error(transparent)]
    Challenge(#[from] LoginChallengeError),
    #[error("the signature is not one of the key of the AID")]
    Signature(#[from] InvalidSignature),
    #[error("the nonce was used before: start the login again")]
    UsedNonce,
    #[error("the owner of the AID is disabled")]
    Disabled,
    #[error("client_nonce: expected 1 to 256 characters")]
    ClientNonce,
}

impl IdentityError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::NotAnIssuer | Self::OtherIssuer | Self::NoKey | Self::LogTooShort => {
                Failure::new(FailureKind::NotFound, self.to_string())
            }
            Self::PublicKey(_)
            | Self::Name(_)
            | Self::NoSuchOwner
            | Self::Login(AidLoginError::ClientNonce) => {
                Failure::new(FailureKind::SchemaInvalid, self.to_string())
            }
            Self::Denied(denied) => Failure::new(FailureKind::TenantPolicyDenied, denied.to_string()),
            Self::Exists | Self::Renewal(_) | Self::EarlierKey => {
                Failure::new(FailureKind::Conflict, self.to_string())
            }
            Self::AgentKey(_) => Failure::new(FailureKind::InfraFailed, self.to_string()),
            Self::Login(error) => Failure::new(FailureKind::SignInFailed, error.to_string()),
            Self::Issuer(_) | Self::ListFull | Self::OtherRoots | Self::LogDamaged | Self::Sign(_) => {
                server_error()
            }
        }
    }
}
