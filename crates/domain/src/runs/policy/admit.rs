//! Admission: checks a run request against the bounds of its tenant.

use super::bounds::{MaxPolicy, SecretBounds, TenantBounds};
use super::{
    AllowList, BackendProfile, ExecutionPolicy, Network, PolicyRequest, PolicyViolation, ProjectName,
    ProviderName, RequestField, Sandbox, SecretRef, SecretScope, TraceSink, WorkspaceRef,
};

/// Access to files of a run that requests none in particular, if the bounds allow it.
const DEFAULT_SANDBOX: Sandbox = Sandbox::WorkspaceWrite;

/// Network access of a run that requests none.
const DEFAULT_NETWORK: Network = Network::Disabled;

/// A run as requested by a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRequest {
    pub project: ProjectName,
    pub workspace: WorkspaceRef,
    pub provider: ProviderName,
    pub profile: BackendProfile,
    pub policy: PolicyRequest,
    pub trace_sink: TraceSink,
}

/// The complete specification of a stored run, without defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSpec {
    pub project: ProjectName,
    pub workspace: WorkspaceRef,
    pub provider: ProviderName,
    pub profile: BackendProfile,
    pub policy: ExecutionPolicy,
    pub trace_sink: TraceSink,
}

/// A run specification within a tenant's bounds. Only [`TenantBounds::admit`] creates it, so it needs no further check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedRun(RunSpec);

impl AdmittedRun {
    #[must_use]
    pub const fn spec(&self) -> &RunSpec {
        &self.0
    }

    #[must_use]
    pub fn into_spec(self) -> RunSpec {
        self.0
    }
}

impl TenantBounds {
    /// Admits a run that is within the bounds, and fills in omitted values. A request is granted as it is or rejected,
    /// never reduced, so that no run has less authority than its caller expects.
    pub fn admit(&self, request: &RunRequest) -> Result<AdmittedRun, PolicyViolation> {
        check_allowed(RequestField::ProjectId, request.project.as_str(), &self.projects)?;
        check_allowed(RequestField::ProviderId, request.provider.as_str(), &self.providers)?;
        check_allowed(RequestField::BackendProfile, request.profile.as_str(), &self.profiles)?;
        if let Some(path) = request.workspace.path() {
            check_allowed(RequestField::WorkspacePath, path.as_str(), &self.directories)?;
        }
        if let TraceSink::Named(sink) = &request.trace_sink {
            check_allowed(RequestField::TraceSink, sink.as_str(), &self.trace_sinks)?;
        }
        Ok(AdmittedRun(RunSpec {
            project: request.project.clone(),
            workspace: request.workspace.clone(),
            provider: request.provider.clone(),
            profile: request.profile.clone(),
            policy: self.max_policy.resolve(&request.policy, &request.profile)?,
            trace_sink: request.trace_sink.clone(),
        }))
    }
}

impl MaxPolicy {
    fn resolve(
        &self,
        request: &PolicyRequest,
        profile: &BackendProfile,
    ) -> Result<ExecutionPolicy, PolicyViolation> {
        let secret_scope = request.secret_scope.clone().unwrap_or_default();
        self.secrets.check(&secret_scope, profile)?;
        Ok(ExecutionPolicy {
            sandbox: check_max(
                RequestField::Sandbox,
                request.sandbox.unwrap_or(DEFAULT_SANDBOX.min(self.sandbox)),
                self.sandbox,
            )?,
            approval: check_max(
                RequestField::Approval,
                request.approval.unwrap_or(self.approval),
                self.approval,
            )?,
            timeout: check_max(RequestField::Timeout, request.timeout.unwrap_or(self.timeout), self.timeout)?,
            network: check_max(
                RequestField::Network,
                request.network.unwrap_or(DEFAULT_NETWORK.min(self.network)),
                self.network,
            )?,
            secret_scope,
        })
    }
}

impl SecretBounds {
    fn check(&self, scope: &SecretScope, profile: &BackendProfile) -> Result<(), PolicyViolation> {
        scope.validate()?;
        if scope.allow_credential_echo && !self.allow_credential_echo {
            return Err(PolicyViolation::TooWide {
                field: RequestField::CredentialEcho,
                requested: "true".to_owned(),
                allowed: "false".to_owned(),
            });
        }
        let own = SecretRef::provider_name(profile);
        for secret in &scope.provider_credentials {
            check_allowed(RequestField::ProviderCredentials, secret.name(), &self.names)?;
            if secret.name() != own {
                return Err(PolicyViolation::ForeignCredential {
                    field: RequestField::ProviderCredentials,
                    requested: secret.name().to_owned(),
                    allowed: own,
                });
            }
        }
        for secret in &scope.tool_credentials {
            check_allowed(RequestField::ToolCredentials, secret.name(), &self.names)?;
        }
        if profile.needs_credential() && scope.provider_credentials.is_empty() {
            return Err(PolicyViolation::MissingProviderCredential {
                field: RequestField::ProviderCredentials,
                profile: profile.to_string(),
                required: own,
            });
        }
        Ok(())
    }
}

fn check_allowed(field: RequestField, requested: &str, list: &AllowList) -> Result<(), PolicyViolation> {
    if list.allows(requested) {
        return Ok(());
    }
    Err(PolicyViolation::NotAllowed { field, requested: requested.to_owned(), allowed: list.to_string() })
}

fn check_max<T: Copy + Ord + ToString>(
    field: RequestField,
    requested: T,
    max: T,
) -> Result<T, PolicyViolation> {
    if requested <= max {
        return Ok(requested);
    }
    Err(PolicyViolation::TooWide { field, requested: requested.to_string(), allowed: max.to_string() })
}

impl From<RunSpec> for RunRequest {
    fn from(spec: RunSpec) -> Self {
        let RunSpec { project, workspace, provider, profile, policy, trace_sink } = spec;
        Self { project, workspace, provider, profile, policy: policy.into(), trace_sink }
    }
}

#[cfg(test)]
mod tests;
