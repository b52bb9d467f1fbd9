//! The pipeline of one turn.

use serde::{Deserialize, Serialize};

use super::pipeline_text::ContextEntry;

/// The pipeline of one turn, after the router: what the agent is told with it, and what it may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnPipeline {
    /// The name of the worker.
    pub worker: String,
    /// The keyword of the worker that the message contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyword: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_tools: Option<Vec<String>>,
}

impl TurnPipeline {
    /// Reads the pipeline of a turn from its payload. None if the turn has none, or an unreadable one.
    #[must_use]
    pub fn of_payload(payload: &serde_json::Value) -> Option<Self> {
        payload.get(Self::FIELD).and_then(|value| Self::deserialize(value).ok())
    }

    /// The name of the field in the payload.
    pub const FIELD: &str = "pipeline";

    /// Returns whether the agent may ask to use a tool.
    #[must_use]
    pub fn is_enabled(&self, tool: &str) -> bool {
        self.enabled_tools.as_ref().is_none_or(|enabled| enabled.iter().any(|name| name == tool))
    }
}
