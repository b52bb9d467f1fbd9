//! Bounds of a tenant's runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What to restrict for a tenant, within the bounds of the installation (the section `runs` of the configuration). A
/// field that is absent or null restricts nothing. List items are names, `*`, or a prefix followed by `*`; an empty list
/// allows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetTenantBounds {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["acme/*"]), max_items = 100)]
    pub projects: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub providers: Option<Vec<String>>,
    /// Backend profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["codex", "demo"]), max_items = 100)]
    pub profiles: Option<Vec<String>>,
    /// Directories on the runner's machine that a run may name as its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["/srv/acme/*"]), max_items = 100)]
    pub directories: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub trace_sinks: Option<Vec<String>>,
    /// The least restrictive sandbox: read-only, workspace-write or danger-full-access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(read-only|workspace-write|danger-full-access)$")]
    pub sandbox: Option<String>,
    /// The least restrictive approval policy: untrusted, on-request or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(untrusted|on-request|never)$")]
    pub approval: Option<String>,
    /// The longest turn timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000, maximum = 604_800_000)]
    pub timeout_ms: Option<u64>,
    /// Widest network access: disabled, allow-list or enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(disabled|allow-list|enabled)$")]
    pub network: Option<String>,
}

/// The bounds of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantBoundsView {
    #[schema(example = "ten_01920000000070008000000000000000")]
    pub tenant_id: String,
    /// What an operator has restricted for this tenant. Null restricts nothing.
    pub restrictions: RestrictionsView,
    /// What runs of this tenant may request: what both the installation and the restrictions allow.
    pub effective: EffectiveBoundsView,
}

/// The restrictions of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestrictionsView {
    pub projects: Option<Vec<String>>,
    pub providers: Option<Vec<String>>,
    pub profiles: Option<Vec<String>>,
    pub directories: Option<Vec<String>>,
    pub trace_sinks: Option<Vec<String>>,
    pub sandbox: Option<String>,
    pub approval: Option<String>,
    pub timeout_ms: Option<u64>,
    pub network: Option<String>,
}

/// What runs of a tenant may request. An empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveBoundsView {
    pub projects: Vec<String>,
    pub providers: Vec<String>,
    pub profiles: Vec<String>,
    pub directories: Vec<String>,
    pub trace_sinks: Vec<String>,
    /// The least restrictive sandbox.
    pub sandbox: String,
    /// The least restrictive approval policy, and the default.
    pub approval: String,
    /// The longest turn timeout, and the default.
    pub timeout_ms: u64,
    /// Widest network access.
    pub network: String,
}
