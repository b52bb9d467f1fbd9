//! Agents.

pub mod aid;
pub mod automations;
pub mod end_users;
pub mod inbox;
pub mod manifests;
pub mod pipeline;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use self::end_users::{EndUsersBody, EndUsersView};
use self::pipeline::PipelineBody;
use super::runs::policy::ExecutionPolicyRequest;
use super::runs::workspace::WorkspaceRef;

/// An agent to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateAgent {
    /// Id or slug of one of your tenants.
    #[schema(example = "acme", min_length = 1, max_length = 64)]
    pub tenant_id: String,
    /// Short name, unique in the tenant: lower-case letters, digits and inner dashes.
    #[schema(
        example = "helper",
        min_length = 2,
        max_length = 40,
        pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
    )]
    pub slug: String,
    #[schema(example = "Helper", min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub description: Option<String>,
    /// What the agent is told before the first turn of a conversation, at most 32 KiB. Every member of the tenant can
    /// read it: it must contain no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Answer in one sentence.", min_length = 1, max_length = 32768)]
    pub instructions: Option<String>,
    /// Slug of a project, or another name that the tenant's policy allows.
    #[schema(example = "acme/web", min_length = 1, max_length = 200)]
    pub project_id: String,
    /// The workspace of a new conversation: any kind but `bundle`, which is uploaded for one run.
    #[schema(value_type = WorkspaceRef, example = json!({ "kind": "empty" }))]
    pub workspace_ref: Value,
    #[schema(example = "local", min_length = 1, max_length = 64)]
    pub provider_id: String,
    /// Slug of a backend profile.
    #[schema(example = "demo", min_length = 1, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub backend_profile: String,
    /// The execution policy. What is omitted is filled in for each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExecutionPolicyRequest>, example = json!({ "sandbox": "read-only" }))]
    pub execution_policy: Option<Value>,
    /// How its turns are done. By default one worker, with no context and all tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PipelineBody>)]
    pub pipeline: Option<Value>,
    /// What end users of applications may do. What is omitted has its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EndUsersBody>)]
    pub end_users: Option<Value>,
    /// Whether requests that name no agent are for this one. It replaces the earlier default.
    #[serde(default)]
    pub default: bool,
    /// What the agent can do, and which permissions it asks for: a capability manifest. Only a person may send one.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "capability_manifest")]
    #[schema(value_type = Option<Object>)]
    pub capability_manifest: Option<Box<RawValue>>,
}

/// A change of an agent. Omitted values stay as they are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateAgent {
    /// The revision that you have read. If the agent has another, nothing changes and the status is 409.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub revision: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub description: Option<String>,
    /// Null removes the instructions.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 32768)]
    pub instructions: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub project_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WorkspaceRef>)]
    pub workspace_ref: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64)]
    pub provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub backend_profile: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExecutionPolicyRequest>)]
    pub execution_policy: Option<Value>,
    /// Replaces the whole pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PipelineBody>)]
    pub pipeline: Option<Value>,
    /// What end users of applications may do. What is omitted stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EndUsersBody>)]
    pub end_users: Option<Value>,
    /// Whether it takes new turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
    /// Another manifest is the next version. The same manifest again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "capability_manifest")]
    #[schema(value_type = Option<Object>)]
    pub capability_manifest: Option<Box<RawValue>>,
    /// The version of the manifest that you have read, 0 for none. If the agent has another, nothing changes and the status is 409.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "capability_manifest_version")]
    #[schema(minimum = 0)]
    pub capability_manifest_version: Option<i64>,
    /// Whether everybody may read the name and the manifest of the agent. Needs a manifest. Each published version is an entry
    /// of the transparency log, which stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<bool>,
}

/// Tells null from an omitted value.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    #[schema(example = "agt_01920000000070008000000000000000")]
    pub id: String,
    pub tenant_id: String,
    pub slug: String,
    pub name: String,
    pub description: String,
    pub instructions: Option<String>,
    pub project_id: String,
    #[schema(value_type = WorkspaceRef)]
    pub workspace_ref: Value,
    pub provider_id: String,
    pub backend_profile: String,
    /// The requested values. Each run shows those that were filled in.
    #[schema(value_type = ExecutionPolicyRequest)]
    pub execution_policy: Value,
    #[schema(value_type = PipelineBody)]
    pub pipeline: Value,
    pub end_users: EndUsersView,
    /// Whether it takes new turns.
    pub enabled: bool,
    /// Whether requests that name no agent are for this one.
    pub default: bool,
    /// Incremented by every change of what runs are created with.
    pub revision: i64,
    /// The current version of its manifest. Null: it has declared none.
    pub capability_manifest_version: Option<i64>,
    /// The hash of that version.
    pub capability_manifest_hash: Option<String>,
    /// Whether everybody may read its name and its manifest.
    pub published: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Agents sorted by slug, at most 1000.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsView {
    pub agents: Vec<AgentView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AgentsQuery {
    /// Id or slug of one of your tenants.
    #[param(example = "acme", min_length = 1, max_length = 64)]
    pub tenant_id: String,
}
