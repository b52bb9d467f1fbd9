//! How much a tenant may ask for. It comes from the configuration.

use super::allow_list::AllowList;
use super::authority::{Approval, Network, Sandbox};
use super::timeout::RunTimeout;

/// What the runs of a tenant may name, and the widest authority that they may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    pub projects: AllowList,
    pub providers: AllowList,
    /// `*` allows any slug; a profile still needs a credential of its own.
    pub profiles: AllowList,
    /// Paths on the runner's machine, for workspaces that are folders already. A link inside one is the launcher's to
    /// refuse: nothing here looks at a disk.
    pub directories: AllowList,
    pub trace_sinks: AllowList,
    pub widest: WidestPolicy,
}

/// The widest authority of a tenant's runs, and what a run gets that does not ask for less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WidestPolicy {
    pub sandbox: Sandbox,
    pub approval: Approval,
    pub timeout: RunTimeout,
    pub network: Network,
    pub secrets: SecretBounds,
}

/// The secrets that a tenant's runs may name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretBounds {
    /// By name: `guildhall-provider-codex`, `guildhall-tool-*`.
    pub names: AllowList,
    pub allow_credential_echo: bool,
}
