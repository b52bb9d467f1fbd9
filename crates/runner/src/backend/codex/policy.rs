//! The policy of a turn, in the terms of Codex.

use guildhall_domain::runs::policy::{Network, Sandbox};
use serde_json::{Value, json};

use crate::backend::BackendConfig;

pub(super) fn text_input(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// Returns the sandbox of commands. `/tmp` is shared with other processes, so commands use a private `TMPDIR` instead.
pub(super) fn sandbox_policy(config: &BackendConfig) -> Value {
    let network = match config.network {
        Network::Disabled => false,
        Network::AllowList | Network::Enabled => true,
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
