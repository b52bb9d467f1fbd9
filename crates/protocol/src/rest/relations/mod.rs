//! Relations: what users have granted to agents. Names of fields have underscores, as in the specification of manifests.

pub mod scopes;

use guildhall_domain::relations::RelationState;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A consent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelation {
    /// Id of the agent.
    #[schema(pattern = "^agt_[0-9a-f]{32}$", example = "agt_01920000000070008000000000000000")]
    pub agent_id: String,
    /// Ids of scopes that the manifest of the agent declares.
    #[serde(default)]
    #[schema(max_items = 64, example = json!(["filesystem:read"]))]
    pub granted_scopes: Vec<String>,
    /// The version of the manifest that the user was shown. Another current version is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub manifest_version: Option<i64>,
    /// The hash of the manifest that the user was shown. Another one is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub manifest_hash: Option<String>,
}

/// A changed consent: other scopes, or the same for a new manifest.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRelation {
    /// Ids of all scopes that are granted from now on.
    #[schema(max_items = 64, example = json!(["filesystem:read"]))]
    pub granted_scopes: Vec<String>,
    /// The version of the manifest that the user was shown. Another current version is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub manifest_version: Option<i64>,
    /// The hash of the manifest that the user was shown. Another one is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub manifest_hash: Option<String>,
}

/// What a user has granted to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelationView {
    #[schema(example = "rel_01920000000070008000000000000000")]
    pub id: String,
    #[schema(example = "agt_01920000000070008000000000000000")]
    pub agent_id: String,
    pub agent_name: String,
    /// The AID with which the agent speaks. Null: it has none.
    #[schema(example = "helper.guild.example")]
    pub agent_aid: Option<String>,
    /// `active` or `ended`.
    #[schema(example = "active")]
    pub status: String,
    pub granted_scopes: Vec<String>,
    /// The manifest that the user agreed to.
    #[schema(minimum = 1)]
    pub manifest_version: i64,
    #[schema(min_length = 64, max_length = 64)]
    pub manifest_hash: String,
    /// The current manifest of the agent. Null: the agent is not published any more.
    #[schema(minimum = 1)]
    pub current_manifest_version: Option<i64>,
    #[schema(min_length = 64, max_length = 64)]
    pub current_manifest_hash: Option<String>,
    /// Scopes that changed since the consent. What changed does not work until the user has agreed again.
    pub scopes_requiring_reauth: Vec<String>,
    /// Tools that do not work until then.
    pub tools_requiring_reauth: Vec<String>,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// Relations, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelationsView {
    pub relations: Vec<RelationView>,
    /// Query parameter for the next page. Null: this is the last one.
    pub next_cursor: Option<String>,
}

/// A relation that has ended, and what ended with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndedRelationView {
    pub relation: RelationView,
    /// The scopes that were granted. Empty if the relation had ended before.
    pub ended_scopes: Vec<String>,
    /// Calls of tools that the user's devices had not received. Their content was removed.
    pub ended_calls: u64,
}

/// An entry of the history of a relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelationChangeView {
    /// From 1, without gaps.
    #[schema(minimum = 1)]
    pub number: i32,
    /// `granted`, `changed`, `reconsented` or `revoked`.
    #[schema(example = "granted")]
    pub kind: String,
    /// What was granted from then on.
    pub granted_scopes: Vec<String>,
    #[schema(minimum = 1)]
    pub manifest_version: i64,
    #[schema(min_length = 64, max_length = 64)]
    pub manifest_hash: String,
    /// The person who did it.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub actor: String,
    pub changed_at: Timestamp,
}

/// Entries of a history, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelationHistoryView {
    pub changes: Vec<RelationChangeView>,
}

/// Query parameters of relations.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RelationsQuery {
    /// Also those that have ended.
    #[serde(default)]
    pub ended: bool,
    /// `next_cursor` of the page before.
    #[param(pattern = "^rel_[0-9a-f]{32}$")]
    pub cursor: Option<String>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

/// Query parameters of a history.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RelationHistoryQuery {
    /// Only entries below this number, for the next page.
    #[param(minimum = 1)]
    pub before: Option<i32>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

/// Says that the user has seen what changed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeNotice {
    /// The version that the user was told about.
    #[schema(minimum = 1)]
    pub manifest_version: i64,
}

/// Confirms that the event about a version is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcknowledgedNoticeView {
    #[schema(example = "rel_01920000000070008000000000000000")]
    pub relation_id: String,
    #[schema(minimum = 1)]
    pub manifest_version: i64,
    /// Always true.
    pub acknowledged: bool,
}

/// An event in the stream of a user's relations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelationEventView {
    /// Always 1.
    pub v: u32,
    /// `h2a.relation_changed`, `h2a.reauth_required` or `h2a.manifest_updated`.
    #[schema(example = "h2a.relation_changed")]
    pub r#type: String,
    /// The same members as in the event of the socket.
    #[schema(value_type = Object)]
    pub payload: serde_json::Value,
}

fn default_limit() -> u32 {
    100
}

impl From<RelationState> for RelationView {
    fn from(state: RelationState) -> Self {
        let RelationState { relation, agent, gap } = state;
        Self {
            id: relation.id.to_string(),
            agent_id: relation.agent.to_string(),
            agent_name: agent.name,
            agent_aid: agent.aid.map(|aid| aid.to_string()),
            status: relation.status().to_string(),
            granted_scopes: relation.granted_scopes.into_iter().collect(),
            manifest_version: relation.manifest.version,
            manifest_hash: relation.manifest.hash.to_string(),
            current_manifest_version: agent.manifest.map(|pin| pin.version),
            current_manifest_hash: agent.manifest.map(|pin| pin.hash.to_string()),
            scopes_requiring_reauth: gap.scopes.into_iter().collect(),
            tools_requiring_reauth: gap.tools.into_iter().collect(),
            created_at: relation.created_at,
            changed_at: relation.changed_at,
            ended_at: relation.ended_at,
        }
    }
}
