//! The policy of a turn, in the terms of Codex.

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::{Network, Sandbox};
use serde_json::{Value, json};

use crate::backend::{BackendConfig, BackendFailure};

/// Rejects a policy that Codex cannot enforce: without a sandbox nothing blocks network access of its commands.
pub(super) fn check_enforceable(config: &BackendConfig) -> Result<(), BackendFailure> {
    match (config.sandbox, config.network) {
        (Sandbox::DangerFullAccess, Network::Disabled) => Err(BackendFailure::new(
            FailureKind::TenantPolicyDenied,
            "codex cannot block network access without a sandbox",
        )),
        (Sandbox::ReadOnly | Sandbox::WorkspaceWrite | Sandbox::DangerFullAccess, _) => Ok(()),
    }
}

pub(super) fn text_input(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// Returns the sandbox of commands. `/tmp` is shared with other processes, so commands use a private `TMPDIR` instead.
pub(super) fn sandbox_policy(config: &BackendConfig) -> Value {
    let network = match config.network {
        Network::Disabled => false,
        Network::Enabled => true,
    };
    match config.sandbox {
        Sandbox::ReadOnly => json!({ "type": "readOnly", "networkAccess": network }),
        Sandbox::WorkspaceWrite => json!({
            "type": "workspaceWrite", "writableRoots": [], "networkAccess": network,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": true,
        }),
        Sandbox::DangerFullAccess => json!({ "type": "dangerFullAccess" }),
    }
}
