//! The methods and events `h2a.*`: what the user of this AID has granted to agents. Names are those of the specification of
//! manifests.

use guildhall_domain::relations::{NoticeKind, RelationNotice, RelationState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// A relation; also the parameters of `event/h2a.relation_changed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelationRow {
    #[schema(example = "rel_01920000000070008000000000000000")]
    pub relation_id: String,
    #[schema(example = "agt_01920000000070008000000000000000")]
    pub agent_id: String,
    /// The AID with which the agent speaks. Null: it has none.
    #[schema(example = "helper.guild.example")]
    pub agent_aid: Option<String>,
    /// `active` or `ended`.
    #[schema(example = "active")]
    pub status: String,
    pub granted_scopes: Vec<String>,
    /// The manifest that the user agreed to.
    pub manifest_version: i64,
    pub manifest_hash: String,
    /// The current manifest. Null: the agent is not published any more.
    pub current_manifest_version: Option<i64>,
    pub current_manifest_hash: Option<String>,
    /// Scopes that changed since the consent. What changed answers `scope_not_granted` until the user has agreed again.
    pub scopes_requiring_reauth: Vec<String>,
    /// Tools that changed.
    pub tools_requiring_reauth: Vec<String>,
}

/// The active relations of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelationsResult {
    pub relations: Vec<RelationRow>,
}

/// The parameters of `event/h2a.reauth_required`, exactly those of the specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReauthRequiredEvent {
    pub agent_id: String,
    pub new_manifest_version: i64,
    pub new_manifest_hash: String,
    pub scopes_requiring_reauth: Vec<String>,
}

/// The parameters of `event/h2a.manifest_updated`: a change that asks nothing of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ManifestUpdatedEvent {
    pub agent_id: String,
    pub new_manifest_version: i64,
    pub new_manifest_hash: String,
    /// Granted scopes that the change is about.
    pub scopes: Vec<String>,
}

impl From<&RelationState> for RelationRow {
    fn from(state: &RelationState) -> Self {
        let RelationState { relation, agent, gap } = state;
        Self {
            relation_id: relation.id.to_string(),
            agent_id: relation.agent.to_string(),
            agent_aid: agent.aid.as_ref().map(ToString::to_string),
            status: relation.status().to_string(),
            granted_scopes: relation.granted_scopes.iter().cloned().collect(),
            manifest_version: relation.manifest.version,
            manifest_hash: relation.manifest.hash.to_string(),
            current_manifest_version: agent.manifest.map(|pin| pin.version),
            current_manifest_hash: agent.manifest.map(|pin| pin.hash.to_string()),
            scopes_requiring_reauth: gap.scopes.iter().cloned().collect(),
            tools_requiring_reauth: gap.tools.iter().cloned().collect(),
        }
    }
}

/// Returns the method of the notification of a notice, and its parameters.
#[must_use]
pub fn notice_event(notice: &RelationNotice) -> (&'static str, Value) {
    let scopes: Vec<String> = notice.scopes.iter().cloned().collect();
    let agent_id = notice.agent.to_string();
    let (version, hash) = (notice.manifest.version, notice.manifest.hash.to_string());
    match notice.kind {
        NoticeKind::ReauthRequired => {
            let event = ReauthRequiredEvent {
                agent_id,
                new_manifest_version: version,
                new_manifest_hash: hash,
                scopes_requiring_reauth: scopes,
            };
            ("event/h2a.reauth_required", json!(event))
        }
        NoticeKind::Information => {
            let event = ManifestUpdatedEvent {
                agent_id,
                new_manifest_version: version,
                new_manifest_hash: hash,
                scopes,
            };
            ("event/h2a.manifest_updated", json!(event))
        }
    }
}
