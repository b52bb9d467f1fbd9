//! Versions of the manifests of agents, and what everybody may read of them.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::AgentsRead;
use guildhall_domain::agents::Agent;
use guildhall_domain::agents::manifest::version::{
    ManifestPin, ManifestText, ManifestVerdicts, ManifestVersion, PublishedManifest,
};
use guildhall_domain::agents::manifest::{DeclaredManifest, Manifest};
use guildhall_domain::identity::LoggedManifest;
use guildhall_domain::ids::{AgentId, PrincipalId};
use guildhall_domain::relations::{ConsentGap, reauth_scopes};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_store::agent_manifests::{self as rows, NewManifestVersion};
use guildhall_store::{Store, Tx, agents};
use jiff::Timestamp;
use metrics::counter;
use serde_json::{Value, json};
use tracing::warn;

use crate::ServiceError;
use crate::identity::transparency;
use crate::webhooks::events::{NewEvent, enqueue_for_agent};

/// Versions in one page.
pub const MAX_PAGE_SIZE: u32 = 100;

/// Reads versions of manifests.
#[derive(Debug, Clone)]
pub struct Manifests {
    store: Store,
}

impl Manifests {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }

    /// Lists at most `limit` versions below `before`, newest first.
    pub async fn list(
        &self,
        caller: &Authorized<AgentsRead>,
        agent: AgentId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ManifestVersion>, ServiceError> {
        caller.load(agents::find(&self.store, agent).await?)?;
        Ok(rows::list(&self.store, agent, before.unwrap_or(i64::MAX), limit).await?)
    }

    pub async fn get(
        &self,
        caller: &Authorized<AgentsRead>,
        agent: AgentId,
        version: i64,
    ) -> Result<ManifestText, ServiceError> {
        caller.load(agents::find(&self.store, agent).await?)?;
        rows::find(&self.store, agent, version).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Returns what everybody may read: the current version of a published agent, or an older one that was published.
    pub async fn published(
        &self,
        agent: AgentId,
        version: Option<i64>,
    ) -> Result<PublishedManifest, ServiceError> {
        rows::find_published(&self.store, agent, version).await?.ok_or(ServiceError::NOT_FOUND)
    }
}

/// Inserts the version after `current`. The caller holds the lock of the agent's tenant. Returns the difference between the two.
pub(super) async fn insert(
    tx: &mut Tx,
    agent: AgentId,
    current: Option<ManifestPin>,
    declared: &DeclaredManifest,
    created_by: PrincipalId,
) -> Result<Option<ConsentGap>, ServiceError> {
    let DeclaredManifest { document, manifest } = declared;
    let old = match current {
        Some(current) => rows::load_text(tx, agent, current.version).await?,
        None => None,
    };
    let verdicts = old.as_deref().map(|old| ManifestVerdicts::between(old, manifest));
    let version = ManifestPin::declare(current, document.hash()).version;
    rows::insert(tx, &NewManifestVersion { agent, version, document, verdicts, created_by }).await?;
    if document.is_large() {
        let bytes = document.canonical().len();
        warn!(agent.id = %agent, manifest.bytes = bytes, "the manifest of {agent} is large");
        counter!("guildhall_large_manifests_total").increment(1);
    }
    Ok(old.map(|old| match Manifest::read_stored(&old) {
        Some(old) => ConsentGap::between(&old, manifest),
        None => ConsentGap::whole(manifest),
    }))
}

/// The lane of events about manifests: no AID has this name, so no sender of messages shares it.
const OBSERVER_LANE: &str = "manifest";

/// Tells the webhooks of an agent that its users are asked again, in the words of the specification.
pub(super) async fn tell_observers(
    tx: &mut Tx,
    agent: AgentId,
    new: ManifestPin,
    gap: &ConsentGap,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let Some(scopes) = reauth_scopes(gap) else { return Ok(()) };
    let data = json!({
        "agent_id": agent,
        "new_manifest_version": new.version,
        "new_manifest_hash": new.hash.to_string(),
        "scopes_requiring_reauth": scopes,
    });
    let event = NewEvent { event_type: WebhookEventType::ReauthRequired, occurred_at: now, data };
    enqueue_for_agent(tx, agent, OBSERVER_LANE, &event).await
}

/// Appends the current version of a published agent to the transparency log, once.
pub(super) async fn log(tx: &mut Tx, agent: &Agent, now: Timestamp) -> Result<(), ServiceError> {
    let Some(pin) = agent.manifest.filter(|_| agent.published) else { return Ok(()) };
    if rows::is_logged(tx, agent.id, pin.version).await? {
        return Ok(());
    }
    let entry = LoggedManifest { agent: agent.id, version: pin.version, hash: pin.hash };
    let index = transparency::append_manifest(tx, &entry, now).await?;
    Ok(rows::set_log_index(tx, agent.id, pin.version, index).await?)
}

/// Returns a version for the audit log.
pub(super) fn detail(pin: ManifestPin) -> Value {
    json!({ "version": pin.version, "hash": pin.hash.to_string() })
}
