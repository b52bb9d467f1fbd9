//! Capabilities of a server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Capabilities of the server. A tag in `features` means that the feature is available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesView {
    /// Version of this format.
    #[schema(example = 1)]
    pub v: u32,
    /// Kind of server, for people. Clients should check `features`.
    #[schema(example = "control-plane")]
    pub mode: String,
    pub features: Vec<String>,
    /// The working directory of a single-workspace server. Always null: this server serves many workspaces.
    #[schema(required = true)]
    pub workspace_cwd: Option<String>,
    pub protocol: ProtocolView,
    pub policy: PolicyView,
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
    /// Handling of permission requests by agents. `decline`: every request is declined.
    #[schema(example = "decline")]
    pub permission: String,
    /// Isolation of agents. `elsewhere`: this server starts no runners. `contained`: the kernel denies agents access
    /// to the server's state and credentials. `uncontained`: runners use the server's account, and agents can access
    /// whatever that account can; only for a single tenant, or for tenants that trust each other.
    #[schema(example = "elsewhere")]
    pub containment: String,
}
