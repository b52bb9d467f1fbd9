//! The inbox of an agent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An inbox to set up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutAgentInbox {
    /// Name of the agent's AID; the slug of the agent without it. It cannot be changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 4, max_length = 64, pattern = "^[a-z0-9_][a-z0-9_-]{3,63}$", example = "helper")]
    pub name: Option<String>,
    /// Whose messages start work: `members` of the tenant who may start runs, the default, or `anyone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "members", pattern = "^(members|anyone)$")]
    pub senders: Option<String>,
}

/// The inbox of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInboxView {
    /// The name of the agent in the AUN network.
    #[schema(example = "helper.guild.example")]
    pub aid: String,
    /// `members` or `anyone`.
    #[schema(example = "members")]
    pub senders: String,
    /// Always false: the server holds the key of the agent.
    pub end_to_end_encrypted: bool,
}
