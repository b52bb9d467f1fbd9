//! Why a run is not admitted.

use std::fmt;

use super::secret_scope::InvalidSecretScope;
use crate::FailureKind;

/// The part of a request that a refusal is about, as it is called on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    ProjectId,
    ProviderId,
    BackendProfile,
    WorkspacePath,
    TraceSink,
    Sandbox,
    Approval,
    Timeout,
    Network,
    CredentialEcho,
    ProviderCredentials,
    ToolCredentials,
}

impl Field {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProjectId => "projectId",
            Self::ProviderId => "providerId",
            Self::BackendProfile => "backendProfile",
            Self::WorkspacePath => "workspaceRef.path",
            Self::TraceSink => "traceSink",
            Self::Sandbox => "executionPolicy.sandbox",
            Self::Approval => "executionPolicy.approval",
            Self::Timeout => "executionPolicy.timeoutMs",
            Self::Network => "executionPolicy.network",
            Self::CredentialEcho => "executionPolicy.secretScope.allowCredentialEcho",
            Self::ProviderCredentials => "executionPolicy.secretScope.providerCredentials",
            Self::ToolCredentials => "executionPolicy.secretScope.toolCredentials",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run may not be. The texts come from types that hold no secret, so a caller may see them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{field}: {asked} is not allowed for this tenant; allowed: {allowed}")]
    NotAllowed { field: Field, asked: String, allowed: String },
    #[error("{field}: {asked} is more than this tenant may have; at most {allowed}")]
    TooWide { field: Field, asked: String, allowed: String },
    #[error("{field}: {asked} belongs to another profile; a run of this one may have {allowed} alone")]
    ForeignCredential { field: Field, asked: String, allowed: String },
    #[error("{field}: the profile {profile} needs {wanted}, and no other credential takes its place")]
    NoProviderCredential { field: Field, profile: String, wanted: String },
    #[error("executionPolicy.secretScope: {0}")]
    SecretScope(#[from] InvalidSecretScope),
}

impl Refusal {
    /// Returns the failure that a caller sees.
    #[must_use]
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::NotAllowed { .. } | Self::TooWide { .. } | Self::ForeignCredential { .. } => {
                FailureKind::TenantPolicyDenied
            }
            Self::NoProviderCredential { .. } => FailureKind::SecretUnavailable,
            Self::SecretScope(_) => FailureKind::SchemaInvalid,
        }
    }
}
