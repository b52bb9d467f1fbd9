//! Versions of the manifests of agents.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// A version of the manifest of an agent. Versions never change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestVersionView {
    /// From 1, without gaps.
    #[schema(minimum = 1)]
    pub version: i64,
    /// SHA-256 of the canonical JSON (RFC 8785), in hexadecimal digits.
    #[schema(min_length = 64, max_length = 64)]
    pub hash: String,
    /// Whether it broke the contract of the version before: `compatible` or `breaking`. Null for the first one.
    #[schema(example = "compatible")]
    pub contract: Option<String>,
    /// What users had to know about it: `silent`, `notify` or `re-consent`. Null for the first one.
    #[schema(example = "notify")]
    pub consent: Option<String>,
    /// Index of its entry in the transparency log. Null: it was never published.
    pub log_id: Option<u64>,
    pub created_at: Timestamp,
    /// Absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub capability_manifest: Option<Value>,
}

/// Versions, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestVersionsView {
    pub versions: Vec<ManifestVersionView>,
}

/// Query parameters of versions.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ManifestVersionsQuery {
    /// Only versions below this one, for the next page.
    #[param(minimum = 1)]
    pub before: Option<i64>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

fn default_limit() -> u32 {
    100
}

/// What everybody may read about a published agent. Names of fields have underscores, as in the specification of manifests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PublishedAgentView {
    #[schema(example = "agt_01920000000070008000000000000000")]
    pub id: String,
    pub name: String,
    #[schema(value_type = Object)]
    pub capability_manifest: Value,
    #[schema(minimum = 1)]
    pub capability_manifest_version: i64,
    /// SHA-256 of the canonical JSON (RFC 8785), in hexadecimal digits.
    #[schema(min_length = 64, max_length = 64)]
    pub capability_manifest_hash: String,
    /// Index of the entry of this version in the transparency log.
    pub log_id: u64,
}
