//! Capabilities of a server.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Query parameters of the capabilities.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct CapabilitiesQuery {
    /// Id or slug of one of your tenants.
    #[param(example = "acme")]
    pub tenant_id: Option<String>,
}

/// Capabilities of the server. A tag in `features` means that the feature is available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesView {
    /// Version of this format.
    #[schema(example = 1)]
    pub v: u32,
    /// Kind of server, for people. Clients should check `features`.
    pub mode: ServerMode,
    pub features: Vec<String>,
    /// The working directory of a single-workspace server. Always null: this server serves many workspaces.
    #[schema(required = true)]
    pub workspace_cwd: Option<String>,
    pub protocol: ProtocolView,
    /// Policies of the tenant that the caller acts in.
    pub policy: PolicyView,
    /// Isolation of agents. `elsewhere`: this server starts no runners. `contained`: the kernel denies agents access
    /// to the server's state and credentials. `uncontained`: runners use the server's account, and agents can access
    /// whatever that account can; only for a single tenant, or for tenants that trust each other.
    #[schema(example = "elsewhere")]
    pub containment: String,
}

/// Kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerMode {
    /// Agents are reached over HTTP.
    HttpBridge,
}

/// Protocol versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProtocolView {
    #[schema(example = "v1")]
    pub current: String,
    pub supported: Vec<String>,
}

/// Policies of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyView {
    pub permission: PermissionPolicy,
}

/// Who answers the permission requests of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionPolicy {
    /// The first client that votes.
    FirstResponder,
    /// The client that sent the prompt.
    Designated,
    /// A quorum of the clients.
    Consensus,
    /// Clients on the server's machine only.
    LocalOnly,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mode_and_policy_accept_only_the_values_of_the_source() {
        let envelope = |mode: &str, policy: serde_json::Value| {
            json!({
                "v": 1, "mode": mode, "features": [], "workspaceCwd": null, "containment": "elsewhere",
                "protocol": { "current": "v1", "supported": ["v1"] }, "policy": policy,
            })
        };
        let permissions = ["first-responder", "designated", "consensus", "local-only"];
        let policies = permissions.map(|permission| json!({ "permission": permission }));
        for policy in policies {
            let sent = envelope("http-bridge", policy);
            let view: CapabilitiesView = serde_json::from_value(sent.clone()).unwrap();
            assert_eq!(json!(view), sent);
        }
        for invalid in [
            envelope("control-plane", json!({ "permission": "designated" })),
            envelope("http-bridge", json!(null)),
            envelope("http-bridge", json!({ "permission": "decline" })),
            envelope("http-bridge", json!({})),
        ] {
            assert!(serde_json::from_value::<CapabilitiesView>(invalid.clone()).is_err(), "{invalid}");
        }
    }
}
