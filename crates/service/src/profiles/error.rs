//! Why a request about a provider profile fails.

use std::collections::BTreeSet;

use guildhall_domain::profiles::template::TemplateError;
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_domain::{Failure, FailureKind};
use guildhall_egress::BlockedAddress;
use guildhall_launcher::secrets::SecretError;

/// An error of a provider profile. None can hold a credential.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("this server has no secret store")]
    NoStore,
    #[error("the profile {0} has no credential")]
    NoCredential(BackendProfile),
    #[error("no runner serves the profile {profile}")]
    NotServed { profile: BackendProfile, available: BTreeSet<String> },
    #[error("the profile {0} needs no credential")]
    NeedsNone(BackendProfile),
    #[error("there are {0} profiles already")]
    TooMany(usize),
    #[error("there are {0} git credentials already")]
    TooManyGitCredentials(usize),
    #[error("no template was chosen")]
    Template(#[source] TemplateError),
    #[error("invalid base URL")]
    BaseUrl,
    #[error("the base URL has a blocked address: {0}")]
    Address(BlockedAddress),
    #[error("the settings contain something that looks like a credential")]
    SecretInSettings,
    #[error("the secret store failed")]
    Store(#[from] SecretError),
}

impl ProfileError {
    /// Returns what a caller may know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::NoStore => Failure::new(
                FailureKind::SecretUnavailable,
                "this server stores no credentials: set secrets.folder in its configuration, or let runners bring their own",
            ),
            Self::NoCredential(profile) => Failure::new(
                FailureKind::SecretUnavailable,
                format!("profile \"{profile}\" has no credential: run `guildhall profiles set {profile}`"),
            ),
            Self::NotServed { profile, available } => {
                let available = available.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                let message = format!(
                    "backendProfile: no runner serves \"{profile}\"; use one of {available}, or start a runner with \
                     `--profile {profile}`"
                );
                Failure::new(FailureKind::SchemaInvalid, message)
            }
            Self::NeedsNone(profile) => Failure::new(
                FailureKind::Conflict,
                format!("profile \"{profile}\" uses no provider and needs no credential"),
            ),
            Self::TooManyGitCredentials(count) => Failure::new(
                FailureKind::Conflict,
                format!("there are {count} git credentials already, which is the limit: remove one first"),
            ),
            Self::TooMany(count) => Failure::new(
                FailureKind::Conflict,
                format!("there are {count} profiles already, which is the limit: remove one first"),
            ),
            Self::Template(error) => Failure::new(FailureKind::SchemaInvalid, format!("template: {error}")),
            Self::BaseUrl => Failure::new(
                FailureKind::SchemaInvalid,
                "baseUrl: use https:// and a host, without user, query or fragment; http:// is allowed \
                 to loopback addresses only, where the operator allows them",
            ),
            Self::Address(blocked) => Failure::new(
                FailureKind::TenantPolicyDenied,
                format!(
                    "baseUrl: {blocked} is not allowed; the operator can allow address ranges with egress.allow"
                ),
            ),
            Self::SecretInSettings => Failure::new(
                FailureKind::SchemaInvalid,
                "baseUrl or model contains something that looks like a credential: send it only in credential",
            ),
            Self::Store(SecretError::Missing(profile)) => Self::NoCredential(profile.clone()).failure(),
            Self::Store(
                SecretError::InsecurePermissions(_) | SecretError::InvalidFormat(_) | SecretError::Io { .. },
            ) => Failure::new(
                FailureKind::InfraFailed,
                "cannot use the secret store of the server: see its log under the trace id",
            ),
        }
    }
}
