//! What a server can do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Read this before relying on anything: a tag in `features` means that the behaviour is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesView {
    /// The version of this form.
    #[schema(example = 1)]
    pub v: u32,
    /// Describes the kind of server to a person; clients look at `features`.
    #[schema(example = "control-plane")]
    pub mode: String,
    pub features: Vec<String>,
    /// The one folder that a server is bound to; null where it serves many workspaces, as this one does.
    #[schema(required = true)]
    pub workspace_cwd: Option<String>,
    pub protocol: ProtocolView,
    pub policy: PolicyView,
}

/// The versions of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProtocolView {
    #[schema(example = "v1")]
    pub current: String,
    pub supported: Vec<String>,
}

/// What the server decides by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyView {
    /// What becomes of an agent's request for permission. `decline`: nobody can be asked yet, and each is declined.
    #[schema(example = "decline")]
    pub permission: String,
    /// How far agents are kept from what is not theirs. `elsewhere`: this server starts no runners. `uncontained`: it
    /// starts them under its own account, and an agent reaches what that account reaches; for a single tenant, or for
    /// tenants that trust each other.
    #[schema(example = "elsewhere")]
    pub containment: String,
}
