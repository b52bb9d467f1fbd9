//! Why the section `aun` cannot be used.

use guildhall_domain::identity::InvalidIssuer;
use guildhall_identity::seal::SealError;
use guildhall_service::identity::issuer::OpenIssuerError;

/// The section `aun` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuerConfigError {
    #[error("aun.issuer (GUILDHALL_AUN_ISSUER): {0}")]
    Name(#[from] InvalidIssuer),
    #[error("invalid identity.key_encryption_key, which encrypts the keys of the issuer")]
    Kek(#[from] SealError),
    #[error("aun.issuer needs secrets.folder (GUILDHALL_SECRETS_FOLDER), where its keys are")]
    NoFolder,
    #[error("the issuer has no keys yet: create them with `guildhall init`")]
    NoKeys,
    #[error("cannot open the issuer")]
    Open(#[from] OpenIssuerError),
}
