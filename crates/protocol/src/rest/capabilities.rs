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
    pub protocol: ProtocolView,
}

/// The versions of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProtocolView {
    #[schema(example = "v1")]
    pub current: String,
    pub supported: Vec<String>,
}
