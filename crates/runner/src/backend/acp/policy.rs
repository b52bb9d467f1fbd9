//! The policy of an agent. The protocol has no messages for it, so the kernel enforces it.

use std::path::PathBuf;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};

use super::home::AgentHome;
use crate::backend::{BackendConfig, BackendFailure};

/// Rejects a policy that cannot be enforced: the agent needs the network for its model, so its commands have it too.
pub(super) fn check_enforceable(config: &BackendConfig) -> Result<(), BackendFailure> {
    match config.network {
        Network::Disabled => Err(BackendFailure::new(
            FailureKind::TenantPolicyDenied,
            "an ACP agent needs the network for its model, so network access cannot be blocked",
        )),
        Network::Enabled => Ok(()),
    }
}

/// Returns the only directories that the agent and its commands may write to; `None` when there is no restriction.
pub(super) fn writable_dirs(config: &BackendConfig, home: &AgentHome) -> Option<Vec<PathBuf>> {
    let own = home.dirs().map(PathBuf::from);
    match config.sandbox {
        Sandbox::ReadOnly => Some(own.to_vec()),
        Sandbox::WorkspaceWrite => Some(own.into_iter().chain([config.workspace.clone()]).collect()),
        Sandbox::DangerFullAccess => None,
    }
}
