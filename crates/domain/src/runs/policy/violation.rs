//! Reasons for rejecting a run request.

use std::fmt;

use super::secret_scope::InvalidSecretScope;
use crate::FailureKind;

/// The field of a run request that violates the policy, with its wire name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestField {
    ProjectId,
    ProviderId,
    BackendProfile,
    WorkspacePath,
    WorkspaceSize,
    TraceSink,
    Sandbox,
    Approval,
    Timeout,
    Network,
    CredentialEcho,
    ProviderCredentials,
    ToolCredentials,
}

impl RequestField {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProjectId => "projectId",
            Self::ProviderId => "providerId",
            Self::BackendProfile => "backendProfile",
            Self::WorkspacePath => "workspaceRef.path",
            Self::WorkspaceSize => "workspaceRef.sizeBytes",
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

impl fmt::Display for RequestField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run request is rejected. All values come from types without secrets, so the message is public.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyViolation {
    #[error("{field}: {requested} is not allowed for this tenant; allowed: {allowed}")]
    NotAllowed { field: RequestField, requested: String, allowed: String },
    #[error("{field}: {requested} exceeds the maximum of this tenant; at most {allowed}")]
    TooWide { field: RequestField, requested: String, allowed: String },
    #[error("{field}: {requested} belongs to another profile; this profile can only use {allowed}")]
    ForeignCredential { field: RequestField, requested: String, allowed: String },
    #[error("{field}: the profile {profile} requires the credential {required}")]
    MissingProviderCredential { field: RequestField, profile: String, required: String },
    #[error("executionPolicy.secretScope: {0}")]
    SecretScope(#[from] InvalidSecretScope),
}

impl PolicyViolation {
    /// Returns the failure kind for the caller.
    #[must_use]
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::NotAllowed { .. } | Self::TooWide { .. } | Self::ForeignCredential { .. } => {
                FailureKind::TenantPolicyDenied
            }
            Self::MissingProviderCredential { .. } => FailureKind::SecretUnavailable,
            Self::SecretScope(_) => FailureKind::SchemaInvalid,
        }
    }
}
