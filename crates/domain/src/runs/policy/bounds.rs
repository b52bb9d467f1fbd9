//! Bounds of a tenant's runs: those of the configuration, and what an operator restricts further.

use super::allow_list::AllowList;
use super::authority::{Approval, Network, Sandbox};
use super::secret_alias::SecretAliases;
use super::timeout::RunTimeout;

/// The names that runs of a tenant can use, and their maximum policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantBounds {
    pub projects: AllowList,
    pub providers: AllowList,
    /// `*` allows any slug, but every profile needs its own credential.
    pub profiles: AllowList,
    /// Paths on the runner's machine, for existing directories as workspaces. Only paths are compared here: the
    /// runner compares them again after resolving symbolic links.
    pub directories: AllowList,
    pub trace_sinks: AllowList,
    pub max_policy: MaxPolicy,
}

/// The maximum policy of a tenant's runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaxPolicy {
    pub sandbox: Sandbox,
    pub approval: Approval,
    pub timeout: RunTimeout,
    pub network: Network,
    pub secrets: SecretBounds,
}

/// The secrets that a tenant's runs can reference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretBounds {
    /// Names such as `guildhall-provider-codex` or `guildhall-tool-*`.
    pub names: AllowList,
    pub allow_credential_echo: bool,
    /// Further names of secrets that requests may use.
    pub aliases: SecretAliases,
}
