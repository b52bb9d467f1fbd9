//! The terms of a turn: what it is told, and how far it may reach.

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};
use serde_json::{Value, json};

use crate::backend::{BackendFailure, Setting};

/// Refuses a policy that Codex cannot keep: without a sandbox nothing holds its commands off the network.
pub(super) fn enforceable(setting: &Setting) -> Result<(), BackendFailure> {
    match (setting.sandbox, setting.network) {
        (Sandbox::DangerFullAccess, Network::Disabled) => Err(BackendFailure::new(
            FailureKind::TenantPolicyDenied,
            "codex cannot keep commands off the network without a sandbox",
        )),
        (Sandbox::ReadOnly | Sandbox::WorkspaceWrite | Sandbox::DangerFullAccess, _) => Ok(()),
    }
}

pub(super) fn input(words: &str) -> Value {
    json!([{ "type": "text", "text": words }])
}

/// Returns how far commands may reach. `/tmp` is everybody's, so they have a folder of their own in its place.
pub(super) fn sandbox(setting: &Setting) -> Value {
    let network = match setting.network {
        Network::Disabled => false,
        Network::Enabled => true,
    };
    match setting.sandbox {
        Sandbox::ReadOnly => json!({ "type": "readOnly", "networkAccess": network }),
        Sandbox::WorkspaceWrite => json!({
            "type": "workspaceWrite", "writableRoots": [], "networkAccess": network,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": true,
        }),
        Sandbox::DangerFullAccess => json!({ "type": "dangerFullAccess" }),
    }
}
