//! What of a grant counts now: what the user has granted on this device, without what the server and a changed manifest take away.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::agents::diff::{Change, Consent, ManifestDiff};
use guildhall_domain::agents::manifest::Manifest;
use guildhall_domain::agents::manifest::document::ManifestHash;
use guildhall_domain::identity::Aid;
use guildhall_domain::ids::AgentId;
use guildhall_protocol::manifest::{self, CheckedManifest};
use jiff::Timestamp;

use super::error::{GuardedInboxError, PublishedManifestError};
use super::relations::{ActiveRelations, active_relations, list_relations};
use crate::backoff::Backoff;
use crate::guard::ToolGrant;
use crate::messages::{Messenger, StoredToolGrant};

/// The manifest of an agent, as everybody may read it. Its hash was verified.
#[derive(Debug)]
pub struct PublishedManifest {
    pub agent: AgentId,
    /// The name of the agent, as its owner wrote it.
    pub name: String,
    pub version: i64,
    pub checked: CheckedManifest,
}

impl PublishedManifest {
    #[must_use]
    pub fn hash(&self) -> ManifestHash {
        self.checked.document.hash()
    }

    /// Returns what a user grants who was shown this manifest.
    #[must_use]
    pub fn grant(&self, scopes: BTreeSet<String>, granted_at: Timestamp) -> StoredToolGrant {
        StoredToolGrant {
            agent: self.agent,
            scopes,
            manifest_version: self.version,
            manifest: self.checked.document.canonical().to_owned(),
            granted_at,
            changed_tools: BTreeSet::new(),
        }
    }
}

/// Fetches the manifest of a published agent.
pub async fn fetch_published_manifest(
    messenger: &Messenger,
    agent: AgentId,
) -> Result<PublishedManifest, PublishedManifestError> {
    let view = messenger.public_client().get_published_agent(agent).await?;
    let checked = manifest::check(&view.capability_manifest.to_string());
    let checked = checked.map_err(|findings| PublishedManifestError::Invalid(findings.as_slice().len()))?;
    if checked.document.hash().to_string() != view.capability_manifest_hash {
        return Err(PublishedManifestError::OtherHash);
    }
    Ok(PublishedManifest { agent, name: view.name, version: view.capability_manifest_version, checked })
}

/// What the server says about the agents of this device.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) active: ActiveRelations,
    /// Tools that have changed since the user has granted them.
    changed_tools: BTreeMap<Aid, BTreeSet<String>>,
}

pub(super) type DeviceGrants = BTreeMap<Aid, StoredToolGrant>;

/// Asks the server for the relations of the user and the manifests of the agents, until it answers.
pub(super) async fn fetch_state(
    messenger: &Messenger,
    grants: &DeviceGrants,
) -> Result<ServerState, GuardedInboxError> {
    let relations = list_relations(messenger).await.map_err(GuardedInboxError::Relations)?;
    let mut changed_tools = BTreeMap::new();
    for (aid, grant) in grants {
        let current = fetch_current_manifest(messenger, grant.agent).await;
        let before = messenger.store().tool_grant(aid)?;
        let before = before.filter(|stored| stored.manifest == grant.manifest);
        let before = before.map(|stored| stored.changed_tools).unwrap_or_default();
        let now = changes_after(&before, &agreed_manifest(aid, grant)?.manifest, current.as_ref());
        if now != before {
            messenger.store().set_changed_tools(aid, grant, &now)?;
        }
        changed_tools.insert(aid.clone(), now);
    }
    Ok(ServerState { active: active_relations(&relations), changed_tools })
}

/// Fetches the manifest of an agent; none of one that is not published any more, or whose manifest nobody should agree to.
async fn fetch_current_manifest(messenger: &Messenger, agent: AgentId) -> Option<Manifest> {
    let mut backoff = Backoff::default();
    loop {
        match fetch_published_manifest(messenger, agent).await {
            Ok(published) => return Some(published.checked.manifest),
            Err(PublishedManifestError::Client(error)) if error.is_transient() => {
                backoff.record_failure(error.retry_after());
                tokio::time::sleep(backoff.delay()).await;
            }
            Err(_) => return None,
        }
    }
}

/// Returns which tools have changed. Without a current manifest, those that had changed before.
fn changes_after(
    before: &BTreeSet<String>,
    agreed: &Manifest,
    current: Option<&Manifest>,
) -> BTreeSet<String> {
    current.map_or_else(|| before.clone(), |current| changed_tools(agreed, current))
}

fn agreed_manifest(aid: &Aid, grant: &StoredToolGrant) -> Result<CheckedManifest, GuardedInboxError> {
    manifest::check(&grant.manifest).map_err(|_| GuardedInboxError::StoredManifest(aid.clone()))
}

impl ServerState {
    /// Returns what of a grant counts; none where nothing does.
    pub(super) fn effective(
        &self,
        aid: &Aid,
        grant: &StoredToolGrant,
    ) -> Result<Option<ToolGrant>, GuardedInboxError> {
        let Some(active) = self.active.get(&(grant.agent, aid.clone())) else { return Ok(None) };
        let scopes: BTreeSet<String> = grant.scopes.intersection(&active.scopes).cloned().collect();
        if scopes.is_empty() {
            return Ok(None);
        }
        let mut blocked = active.changed_tools.clone();
        blocked.extend(self.changed_tools.get(aid).into_iter().flatten().cloned());
        let granted = ToolGrant::new(agreed_manifest(aid, grant)?, scopes);
        let granted = granted.map_err(|source| GuardedInboxError::Grant { aid: aid.clone(), source })?;
        Ok(Some(granted.without_tools(blocked)))
    }
}

/// Returns the tools that wait for a new consent of the user: those that changed, and all of a scope that changed itself.
fn changed_tools(agreed: &Manifest, current: &Manifest) -> BTreeSet<String> {
    let diff = ManifestDiff::between(agreed, current);
    let changes: Vec<&Change> =
        diff.changes().iter().filter(|change| change.consent == Consent::ReConsent).collect();
    let is_of_changed_scope = |scope: &str| {
        changes.iter().any(|change| change.tool.is_none() && change.scope.as_deref() == Some(scope))
    };
    let of_scopes = agreed.tools.iter().filter(|tool| is_of_changed_scope(&tool.permission_scope));
    of_scopes
        .map(|tool| tool.name.clone())
        .chain(changes.iter().filter_map(|change| change.tool.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use guildhall_domain::agents::tool_calls::{ConversationKind, DenialReason, ToolCall, ToolOutcome};
    use serde_json::{Value, json};

    use super::super::relations::ActiveRelation;
    use super::*;

    fn manifest(edit: impl FnOnce(&mut Value)) -> String {
        let tool = |name: &str, scope: &str| {
            json!({
                "name": name, "description_i18n_key": "key", "description_fallback": "Words",
                "permission_scope": scope, "input_schema": { "type": "object", "properties": {} },
            })
        };
        let scope = |id: &str| json!({ "id": id, "label_i18n_key": "key", "description_i18n_key": "key", "sensitivity": "medium" });
        let mut manifest = json!({
            "schema_version": "1.0", "agent_version": "1.0.0",
            "tools": [
                tool("read_file", "filesystem:read"), tool("list_files", "filesystem:read"),
                tool("paste", "clipboard:read"),
            ],
            "permission_scopes": [scope("filesystem:read"), scope("clipboard:read")],
            "capability_flags": {
                "supports_streaming": false, "supports_artifacts": true, "supports_voice": false,
                "supports_group_chat": false,
            },
        });
        edit(&mut manifest);
        manifest.to_string()
    }

    fn aid() -> Aid {
        "helper.guild.example".parse().expect("an AID")
    }

    fn grant(scopes: &[&str]) -> StoredToolGrant {
        StoredToolGrant {
            agent: "agt_01920000000070008000000000000000".parse().expect("an id"),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            manifest_version: 1,
            manifest: manifest(|_| {}),
            granted_at: Timestamp::UNIX_EPOCH,
            changed_tools: BTreeSet::new(),
        }
    }

    fn state(scopes: &[&str], changed_tools: &[&str], current: Option<String>) -> ServerState {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let relation = ActiveRelation { scopes: texts(scopes), changed_tools: texts(changed_tools) };
        let current = current.map(|text| manifest::check(&text).expect("valid").manifest);
        let agreed = agreed_manifest(&aid(), &grant(&[])).expect("valid").manifest;
        ServerState {
            active: ActiveRelations::from([((grant(&[]).agent, aid()), relation)]),
            changed_tools: [(aid(), changes_after(&BTreeSet::new(), &agreed, current.as_ref()))].into(),
        }
    }

    /// Returns the tools that may be called.
    fn callable(state: &ServerState, grant: &StoredToolGrant) -> Vec<&'static str> {
        let Some(effective) = state.effective(&aid(), grant).expect("usable") else { return Vec::new() };
        let tools = [
            ("read_file", "filesystem:read"),
            ("list_files", "filesystem:read"),
            ("paste", "clipboard:read"),
        ];
        let is_callable = |(tool, scope): &(&str, &str)| {
            let call = ToolCall {
                id: "call-1".parse().expect("an id"),
                tool: (*tool).to_owned(),
                arguments: json!({}),
                scope: (*scope).to_owned(),
                timeout_ms: None,
            };
            match effective.check(&call, ConversationKind::Direct) {
                Ok(_) => true,
                Err(outcome) => {
                    assert_eq!(outcome, ToolOutcome::Denied(DenialReason::ScopeNotGranted));
                    false
                }
            }
        };
        tools.into_iter().filter(is_callable).map(|(tool, _)| tool).collect()
    }

    #[test]
    fn server_takes_scopes_away_and_adds_none() {
        let files = grant(&["filesystem:read"]);
        assert_eq!(callable(&state(&["filesystem:read"], &[], None), &files), ["read_file", "list_files"]);
        let more = state(&["filesystem:read", "clipboard:read"], &[], None);
        assert_eq!(callable(&more, &files), ["read_file", "list_files"], "not granted on this device");
        assert!(callable(&state(&["clipboard:read"], &[], None), &files).is_empty());
        let ended = ServerState { active: ActiveRelations::new(), changed_tools: BTreeMap::new() };
        assert!(callable(&ended, &files).is_empty());
        let mut other_agent = files;
        other_agent.agent = AgentId::generate();
        assert!(callable(&more, &other_agent).is_empty(), "another agent has the AID now");
    }

    #[test]
    fn changed_tools_wait_for_a_new_consent_and_others_go_on() {
        let files = grant(&["filesystem:read", "clipboard:read"]);
        let scopes = ["filesystem:read", "clipboard:read"];
        let changed = manifest(|manifest| {
            manifest["tools"][0]["description_fallback"] = json!("Reads and sends every file");
        });
        assert_eq!(callable(&state(&scopes, &[], Some(changed)), &files), ["list_files", "paste"]);
        let raised = manifest(|manifest| manifest["permission_scopes"][0]["sensitivity"] = json!("high"));
        assert_eq!(callable(&state(&scopes, &[], Some(raised)), &files), ["paste"]);
        let silent = manifest(|manifest| manifest["agent_version"] = json!("1.0.1"));
        assert_eq!(callable(&state(&scopes, &[], Some(silent)), &files).len(), 3);
        // Where the server alone has seen the change.
        assert_eq!(callable(&state(&scopes, &["paste"], None), &files), ["read_file", "list_files"]);
    }

    #[test]
    fn changes_hold_when_the_manifest_cannot_be_read_any_more() {
        let agreed = agreed_manifest(&aid(), &grant(&[])).expect("valid").manifest;
        let changed = manifest(|manifest| manifest["tools"][0]["description_fallback"] = json!("Sends it"));
        let changed = manifest::check(&changed).expect("valid").manifest;
        let seen = changes_after(&BTreeSet::new(), &agreed, Some(&changed));
        assert_eq!(seen, BTreeSet::from(["read_file".to_owned()]));
        assert_eq!(changes_after(&seen, &agreed, None), seen);
        assert_eq!(changes_after(&seen, &agreed, Some(&agreed)), BTreeSet::new(), "it was taken back");
    }
}
