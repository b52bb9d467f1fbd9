//! What the server says about the relations of the user.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::identity::Aid;
use guildhall_domain::ids::AgentId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::backoff::Backoff;
use crate::messages::Messenger;
use crate::socket::{ServerNotification, SocketError};

const LIST_METHOD: &str = "h2a.relations";
const CHANGED_EVENT: &str = "event/h2a.relation_changed";
const OTHER_EVENTS: [&str; 2] = ["event/h2a.reauth_required", "event/h2a.manifest_updated"];

/// The status of a relation that counts.
const ACTIVE: &str = "active";

/// A relation as the server has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerRelation {
    pub agent_id: AgentId,
    /// The AID with which the agent speaks; none where it has none.
    #[serde(default)]
    pub agent_aid: Option<String>,
    pub status: String,
    #[serde(default)]
    pub granted_scopes: BTreeSet<String>,
    /// Tools that have changed since the consent.
    #[serde(default)]
    pub tools_requiring_reauth: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct RelationList {
    relations: Vec<ServerRelation>,
}

/// What the server lets an agent call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ActiveRelation {
    pub(super) scopes: BTreeSet<String>,
    pub(super) changed_tools: BTreeSet<String>,
}

/// The relations of the user, by agent and its AID. What is not here has ended.
pub(super) type ActiveRelations = BTreeMap<(AgentId, Aid), ActiveRelation>;

/// A notification about relations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RelationEvent {
    Changed(ServerRelation),
    /// Something else has changed: ask for everything.
    Other,
}

impl ServerRelation {
    /// Returns whose relation it is, and what it grants; none where that is nothing.
    fn active(&self) -> Option<((AgentId, Aid), ActiveRelation)> {
        let aid = self.agent_aid.as_ref()?.parse().ok()?;
        let (scopes, changed_tools) = (self.granted_scopes.clone(), self.tools_requiring_reauth.clone());
        (self.status == ACTIVE).then_some(((self.agent_id, aid), ActiveRelation { scopes, changed_tools }))
    }
}

/// Lists the relations of the user of a device. Asks again until the server answers.
pub async fn list_relations(messenger: &Messenger) -> Result<Vec<ServerRelation>, SocketError> {
    let mut backoff = Backoff::default();
    loop {
        match messenger.socket().call_raw(LIST_METHOD, json!({})).await {
            Ok(result) => return parse(result),
            Err(error) if error.is_transient() => {
                backoff.record_failure(error.retry_after());
                tokio::time::sleep(backoff.delay()).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn parse(result: Value) -> Result<Vec<ServerRelation>, SocketError> {
    let list: RelationList = serde_json::from_value(result)
        .map_err(|_| SocketError::InvalidResponse("the list of relations cannot be read"))?;
    Ok(list.relations)
}

pub(super) fn active_relations(relations: &[ServerRelation]) -> ActiveRelations {
    relations.iter().filter_map(ServerRelation::active).collect()
}

/// Reads a notification; none for one that is not about relations.
pub(super) fn relation_event(notification: &ServerNotification) -> Option<RelationEvent> {
    match notification.method.as_str() {
        // One that cannot be read is a reason to ask.
        CHANGED_EVENT => Some(
            serde_json::from_value(notification.params.clone())
                .map_or(RelationEvent::Other, RelationEvent::Changed),
        ),
        other => OTHER_EVENTS.contains(&other).then_some(RelationEvent::Other),
    }
}

/// Applies a change at once. Only what it takes away: what it gives is confirmed by the list.
pub(super) fn restrict(active: &mut ActiveRelations, changed: &ServerRelation) {
    let still_active = changed.active().map(|(_, relation)| relation).unwrap_or_default();
    for (_, relation) in active.iter_mut().filter(|((agent, _), _)| *agent == changed.agent_id) {
        relation.scopes.retain(|scope| still_active.scopes.contains(scope));
        relation.changed_tools.extend(still_active.changed_tools.iter().cloned());
    }
    active.retain(|_, relation| !relation.scopes.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(status: &str, scopes: &[&str]) -> ServerRelation {
        ServerRelation {
            agent_id: "agt_01920000000070008000000000000000".parse().expect("an id"),
            agent_aid: Some("helper.guild.example".to_owned()),
            status: status.to_owned(),
            granted_scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            tools_requiring_reauth: BTreeSet::new(),
        }
    }

    #[test]
    fn event_takes_away_and_never_adds() {
        let mut active = active_relations(&[relation("active", &["a", "b"])]);
        let before = active.clone();
        restrict(&mut active, &relation("active", &["a", "b", "c"]));
        assert_eq!(active, before, "what is new comes with the list");
        let tools_requiring_reauth = BTreeSet::from(["read_file".to_owned()]);
        let changed = ServerRelation { tools_requiring_reauth, ..relation("active", &["b"]) };
        restrict(&mut active, &changed);
        let left = ActiveRelation {
            scopes: BTreeSet::from(["b".to_owned()]),
            changed_tools: changed.tools_requiring_reauth,
        };
        assert_eq!(active.values().collect::<Vec<_>>(), [&left]);
        restrict(&mut active, &relation("ended", &["b"]));
        assert!(active.is_empty());
    }

    #[test]
    fn only_active_relations_with_an_aid_count() {
        let without_aid = ServerRelation { agent_aid: None, ..relation("active", &["a"]) };
        let unknown = relation("paused", &["a"]);
        assert!(active_relations(&[relation("ended", &["a"]), without_aid, unknown]).is_empty());
        assert_eq!(active_relations(&[relation("active", &["a"])]).len(), 1);
    }

    #[test]
    fn notifications_that_cannot_be_read_ask_for_the_list() {
        let event = |method: &str, params: Value| {
            relation_event(&ServerNotification { method: method.to_owned(), params })
        };
        assert_eq!(event("event/message.received", json!({})), None);
        assert_eq!(event(OTHER_EVENTS[0], json!({ "agent_id": 1 })), Some(RelationEvent::Other));
        assert_eq!(event(CHANGED_EVENT, json!({})), Some(RelationEvent::Other));
        let params = json!({
            "agent_id": relation("", &[]).agent_id, "agent_aid": "helper.guild.example", "status": "ended",
            "granted_scopes": [],
        });
        assert_eq!(event(CHANGED_EVENT, params), Some(RelationEvent::Changed(relation("ended", &[]))));
    }
}
