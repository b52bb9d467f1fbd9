//! Why something is not done with a provider profile.

use guildhall_domain::runs::policy::BackendProfile;
use guildhall_domain::{Failure, FailureKind};
use guildhall_egress::Refusal;
use guildhall_launcher::secrets::SecretError;

use crate::ServiceError;

/// A refusal, as the log sees it. None of them can hold a credential.
#[derive(Debug, thiserror::Error)]
pub enum ProfileRefusal {
    #[error("this server keeps no credentials")]
    NoStore,
    #[error("the profile {0} has no credential")]
    NoCredential(BackendProfile),
    #[error("the profile {0} needs no credential")]
    NeedsNone(BackendProfile),
    #[error("there are {0} profiles already")]
    TooMany(usize),
    #[error("not a base URL")]
    BaseUrl,
    #[error("the base URL names {0}")]
    Address(Refusal),
    #[error("the settings hold something that looks like a credential")]
    SecretInSettings,
    #[error("the secret store failed")]
    Store(#[from] SecretError),
}

impl ProfileRefusal {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::NoStore => Failure::new(
                FailureKind::SecretUnavailable,
                "this server keeps no credentials: its operator names a folder for them (secrets.folder), or runners bring \
                 their own",
            ),
            Self::NoCredential(profile) => Failure::new(
                FailureKind::SecretUnavailable,
                format!(
                    "the profile {profile} has no credential: `guildhall profiles set {profile}` gives it one"
                ),
            ),
            Self::NeedsNone(profile) => {
                Failure::new(FailureKind::Conflict, format!("the profile {profile} talks to no provider"))
            }
            Self::TooMany(count) => Failure::new(
                FailureKind::Conflict,
                format!("there are {count} profiles already, which is the limit: remove one first"),
            ),
            Self::BaseUrl => Failure::new(
                FailureKind::SchemaInvalid,
                "baseUrl: use https:// and a host, without user, query or fragment; plain http:// goes to this machine \
                 alone, and only where the operator allows it",
            ),
            Self::Address(refusal) => Failure::new(
                FailureKind::TenantPolicyDenied,
                format!("baseUrl: {refusal} is not called; the operator opens ranges with egress.allow"),
            ),
            Self::SecretInSettings => Failure::new(
                FailureKind::SchemaInvalid,
                "something that looks like a credential stands in baseUrl or model: send it as credential alone",
            ),
            Self::Store(SecretError::Missing(profile)) => Self::NoCredential(profile.clone()).failure(),
            Self::Store(SecretError::Open(_) | SecretError::Form(_) | SecretError::Io { .. }) => {
                Failure::new(
                    FailureKind::InfraFailed,
                    "the server's store of credentials cannot be used; its log says why under the trace id",
                )
            }
        }
    }
}

impl From<SecretError> for ServiceError {
    fn from(error: SecretError) -> Self {
        Self::Profile(error.into())
    }
}
