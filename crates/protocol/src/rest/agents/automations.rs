//! Automations.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::pipeline::PipelineBody;

/// An automation to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateAutomation {
    /// Id or slug of one of your tenants.
    #[schema(example = "acme", min_length = 1, max_length = 64)]
    pub tenant_id: String,
    /// Id or slug of the agent that it talks to.
    #[schema(example = "helper", min_length = 1, max_length = 64)]
    pub agent_id: String,
    /// Short name, unique in the tenant: lower-case letters, digits and inner dashes.
    #[schema(
        example = "daily-report",
        min_length = 2,
        max_length = 40,
        pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
    )]
    pub slug: String,
    #[schema(
        example = "Daily report",
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"
    )]
    pub name: String,
    /// The message of a run that has none of its own. Every member of the tenant can read it: it must contain no secret.
    #[schema(example = "Summarise what changed since yesterday.", min_length = 1, max_length = 10000)]
    pub prompt: String,
    /// How its turns are done, instead of the pipeline of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PipelineBody>)]
    pub pipeline: Option<Value>,
}

/// A change of an automation. Omitted values stay as they are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateAutomation {
    /// The revision that you have read. If the automation has another, nothing changes and the status is 409.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub revision: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 10000)]
    pub prompt: Option<String>,
    /// Replaces the whole pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PipelineBody>)]
    pub pipeline: Option<Value>,
    /// Whether it starts new runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// An automation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationView {
    #[schema(example = "aut_01920000000070008000000000000000")]
    pub id: String,
    pub tenant_id: String,
    pub agent_id: String,
    pub slug: String,
    pub name: String,
    pub prompt: String,
    #[schema(value_type = PipelineBody)]
    pub pipeline: Value,
    /// Whether it starts new runs.
    pub enabled: bool,
    /// Incremented by every change of the prompt or the pipeline.
    pub revision: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Automations sorted by slug, at most 1000.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationsView {
    pub automations: Vec<AutomationView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AutomationsQuery {
    /// Id or slug of one of your tenants.
    #[param(example = "acme", min_length = 1, max_length = 64)]
    pub tenant_id: String,
}

/// A run of an automation to start.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartAutomation {
    /// A conversation of the caller to continue. By default a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "550e8400-e29b-41d4-a716-446655440000", format = Uuid)]
    pub thread_id: Option<String>,
    /// An id of your own: in the same thread, the same id is the same run. By default a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "run-1", min_length = 1, max_length = 128)]
    pub run_id: Option<String>,
    /// The message, instead of the prompt of the automation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 10000)]
    pub message: Option<String>,
}
