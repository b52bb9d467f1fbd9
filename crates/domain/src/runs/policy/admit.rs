//! The decision: a new run is held against its tenant's bounds.

use super::bounds::{Bounds, SecretBounds, WidestPolicy};
use super::{
    AllowList, BackendProfile, ExecutionPolicy, Field, PolicyAsk, ProjectName, ProviderName, Refusal,
    SecretRef, SecretScope, TraceSink, WorkspaceRef,
};

/// A run as a caller asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRunAsk {
    pub project: ProjectName,
    pub workspace: WorkspaceRef,
    pub provider: ProviderName,
    pub profile: BackendProfile,
    pub policy: PolicyAsk,
    pub trace_sink: TraceSink,
}

/// What a run is stored with: everything said, nothing left to a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTerms {
    pub project: ProjectName,
    pub workspace: WorkspaceRef,
    pub provider: ProviderName,
    pub profile: BackendProfile,
    pub policy: ExecutionPolicy,
    pub trace_sink: TraceSink,
}

/// Terms within a tenant's bounds. Only [`Bounds::admit`] makes it, so whoever holds one need not check again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted(RunTerms);

impl Admitted {
    #[must_use]
    pub const fn terms(&self) -> &RunTerms {
        &self.0
    }

    #[must_use]
    pub fn into_terms(self) -> RunTerms {
        self.0
    }
}

impl Bounds {
    /// Admits a run whose every part is within the bounds, and completes what it left out. It grants what was asked or
    /// nothing: a run that asks for too much is refused, so that nobody works with less than they believe to have.
    pub fn admit(&self, ask: &NewRunAsk) -> Result<Admitted, Refusal> {
        allowed(Field::ProjectId, ask.project.as_str(), &self.projects)?;
        allowed(Field::ProviderId, ask.provider.as_str(), &self.providers)?;
        allowed(Field::BackendProfile, ask.profile.as_str(), &self.profiles)?;
        if let Some(path) = ask.workspace.path() {
            allowed(Field::WorkspacePath, path.as_str(), &self.directories)?;
        }
        if let TraceSink::Named(sink) = &ask.trace_sink {
            allowed(Field::TraceSink, sink.as_str(), &self.trace_sinks)?;
        }
        Ok(Admitted(RunTerms {
            project: ask.project.clone(),
            workspace: ask.workspace.clone(),
            provider: ask.provider.clone(),
            profile: ask.profile.clone(),
            policy: self.widest.complete(&ask.policy, &ask.profile)?,
            trace_sink: ask.trace_sink.clone(),
        }))
    }
}

impl WidestPolicy {
    fn complete(&self, ask: &PolicyAsk, profile: &BackendProfile) -> Result<ExecutionPolicy, Refusal> {
        let secret_scope = ask.secret_scope.clone().unwrap_or_default();
        self.secrets.check(&secret_scope, profile)?;
        Ok(ExecutionPolicy {
            sandbox: within(Field::Sandbox, ask.sandbox, self.sandbox)?,
            approval: within(Field::Approval, ask.approval, self.approval)?,
            timeout: within(Field::Timeout, ask.timeout, self.timeout)?,
            network: within(Field::Network, ask.network, self.network)?,
            secret_scope,
        })
    }
}

impl SecretBounds {
    fn check(&self, scope: &SecretScope, profile: &BackendProfile) -> Result<(), Refusal> {
        scope.check()?;
        if scope.allow_credential_echo && !self.allow_credential_echo {
            return Err(Refusal::TooWide {
                field: Field::CredentialEcho,
                asked: "true".to_owned(),
                allowed: "false".to_owned(),
            });
        }
        let own = SecretRef::provider_name(profile);
        for secret in &scope.provider_credentials {
            allowed(Field::ProviderCredentials, secret.name(), &self.names)?;
            if secret.name() != own {
                return Err(Refusal::ForeignCredential {
                    field: Field::ProviderCredentials,
                    asked: secret.name().to_owned(),
                    allowed: own,
                });
            }
        }
        for secret in &scope.tool_credentials {
            allowed(Field::ToolCredentials, secret.name(), &self.names)?;
        }
        if profile.needs_credential() && scope.provider_credentials.is_empty() {
            return Err(Refusal::NoProviderCredential {
                field: Field::ProviderCredentials,
                profile: profile.to_string(),
                wanted: own,
            });
        }
        Ok(())
    }
}

fn allowed(field: Field, asked: &str, list: &AllowList) -> Result<(), Refusal> {
    if list.allows(asked) {
        return Ok(());
    }
    Err(Refusal::NotAllowed { field, asked: asked.to_owned(), allowed: list.to_string() })
}

fn within<T: Copy + Ord + ToString>(field: Field, asked: Option<T>, widest: T) -> Result<T, Refusal> {
    match asked {
        None => Ok(widest),
        Some(asked) if asked <= widest => Ok(asked),
        Some(asked) => Err(Refusal::TooWide { field, asked: asked.to_string(), allowed: widest.to_string() }),
    }
}

impl From<RunTerms> for NewRunAsk {
    fn from(terms: RunTerms) -> Self {
        let RunTerms { project, workspace, provider, profile, policy, trace_sink } = terms;
        Self { project, workspace, provider, profile, policy: policy.into(), trace_sink }
    }
}

#[cfg(test)]
mod tests;
