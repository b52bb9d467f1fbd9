//! The terms of an agent: how far it may reach. The protocol has no word for them, so the kernel keeps them.

use std::path::PathBuf;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};

use super::home::Home;
use crate::backend::{BackendFailure, Setting};

/// Refuses a policy that cannot be kept: an agent reaches its model over the network, and so does what it runs.
pub(super) fn enforceable(setting: &Setting) -> Result<(), BackendFailure> {
    match setting.network {
        Network::Disabled => Err(BackendFailure::new(
            FailureKind::TenantPolicyDenied,
            "an agent of this kind cannot be kept off the network that it reaches its model by",
        )),
        Network::Enabled => Ok(()),
    }
}

/// Returns the folders outside of which an agent and what it runs may write nothing; none where it may write anywhere.
pub(super) fn writable(setting: &Setting, home: &Home) -> Option<Vec<PathBuf>> {
    let own = home.folders().map(PathBuf::from);
    match setting.sandbox {
        Sandbox::ReadOnly => Some(own.to_vec()),
        Sandbox::WorkspaceWrite => Some(own.into_iter().chain([setting.workspace.clone()]).collect()),
        Sandbox::DangerFullAccess => None,
    }
}
