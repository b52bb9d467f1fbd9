//! The AID of an agent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The AID of an agent that runs elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutAgentAid {
    /// An AID that you own.
    #[schema(example = "helper.guild.example")]
    pub aid: String,
}

/// The AID with which an agent speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAidView {
    #[schema(example = "helper.guild.example")]
    pub aid: String,
    /// Whether the server holds its key and answers for the agent.
    pub hosted: bool,
}

/// Confirms that an agent that runs elsewhere has no AID any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedAgentAidView {
    #[schema(example = "agt_01920000000070008000000000000000")]
    pub agent_id: String,
    /// Always true.
    pub deleted: bool,
}
