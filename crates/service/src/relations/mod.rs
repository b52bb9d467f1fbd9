//! Relations: what people have granted to agents.

mod consent_alerts;
pub mod error;
mod feed;
mod gaps;
pub mod reconcile;
mod revoke;
mod watch;

use std::collections::BTreeSet;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::agents::manifest::Manifest;
use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::ids::{AgentId, PrincipalId, RelationId, TenantId};
use guildhall_domain::relations::{
    Consent, ConsentGap, GrantError, KnownAgent, MAX_DAILY_CONSENTS, MAX_RELATIONS, Relation, RelationChange,
    RelationNotice, RelationPage, RelationState, VisibleAgent,
};
use guildhall_runtime::Tasks;
use guildhall_store::relations as rows;
use guildhall_store::{
    Store, Tx, agent_manifests, relation_changes, relation_heads, relation_notices, visible_agents,
};
use serde_json::{Value, json};

pub use revoke::EndedRelation;
pub use watch::{RelationEvent, RelationWatch};

use self::error::RelationError;
use self::feed::Feed;
use self::gaps::{Gaps, VersionPair};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::deps::Deps;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// Relations, or entries of a history, in one page.
pub const MAX_PAGE_SIZE: u32 = 100;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub relations: Relations,
}

/// Opens the group and starts its task.
#[must_use]
pub fn open(deps: &Deps, tasks: &Tasks) -> Group {
    let (feed, gaps) = (Feed::start(&deps.store, tasks), Gaps::default());
    consent_alerts::start(&deps.store, &gaps, &feed, tasks);
    Group { relations: Relations { deps: deps.clone(), gaps, feed } }
}

/// What a user is shown before they agree.
#[derive(Debug, Clone)]
pub struct ConsentOffer {
    pub agent: VisibleAgent,
    pub pin: ManifestPin,
    pub manifest: Manifest,
    /// What the user has granted before, with the manifest of that consent.
    pub earlier: Option<EarlierConsent>,
}

/// A consent that holds.
#[derive(Debug, Clone)]
pub struct EarlierConsent {
    pub state: RelationState,
    /// None where it cannot be read by the rules of today.
    pub manifest: Option<Manifest>,
}

/// Grants, changes, ends and reads relations. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Relations {
    deps: Deps,
    gaps: Gaps,
    feed: Feed,
}

impl Relations {
    /// Grants scopes to an agent. A person does, never a program.
    pub async fn grant(
        &self,
        caller: &Caller,
        agent: AgentId,
        consent: &Consent,
        key: Option<&IdempotencyKey>,
    ) -> Result<RelationState, ServiceError> {
        let user = caller.person()?;
        let (id, mut tx) = (RelationId::generate(), self.deps.store.begin().await?);
        let body = json!([
            "relation",
            agent,
            consent.scopes,
            consent.shown.version,
            consent.shown.hash.map(|hash| hash.to_string())
        ]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            tx.rollback().await?;
            return self.state(user, RelationId::from_uuid(created)).await;
        }
        let LockedAgent { agent, pin, manifest } = lock_agent(&mut tx, agent, user).await?;
        let revision = relation_heads::advance(&mut tx, user).await?;
        if let Some(active) = rows::load_active(&mut tx, agent.id, user).await? {
            return Err(GrantError::Exists { relation: active.id }.into());
        }
        if rows::count_active(&mut tx, user).await? >= i64::from(MAX_RELATIONS) {
            return Err(RelationError::TooMany.into());
        }
        check_daily_limit(&mut tx, user, agent.id).await?;
        let now = self.deps.clock.now();
        let granted = Relation {
            id,
            agent: agent.id,
            principal: user,
            granted_scopes: consent.scopes.clone(),
            manifest: consent.check(pin, &manifest)?,
            revision,
            created_at: now,
            changed_at: now,
            ended_at: None,
        };
        rows::insert(&mut tx, &granted).await?;
        record(&mut tx, agent.tenant, "relation.granted", &granted).await?;
        tx.commit().await?;
        self.feed.notify();
        self.state(user, id).await
    }

    /// Changes what is granted, or agrees to another version of the manifest.
    pub async fn change(
        &self,
        caller: &Caller,
        id: RelationId,
        consent: &Consent,
    ) -> Result<RelationState, ServiceError> {
        let user = owner(caller)?;
        let relation = self.find(user, id).await?;
        if relation.ended_at.is_some() {
            return Err(GrantError::Ended.into());
        }
        let mut tx = self.deps.store.begin().await?;
        let locked = lock_agent(&mut tx, relation.agent, user).await;
        if matches!(locked, Err(ServiceError::Denied(_))) {
            return Err(RelationError::AgentHidden.into());
        }
        let LockedAgent { agent, pin, manifest } = locked?;
        let revision = relation_heads::advance(&mut tx, user).await?;
        let relation = rows::load(&mut tx, user, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let (changed, kind) = consent.apply(&relation, pin, &manifest)?;
        let Some(kind) = kind else {
            tx.rollback().await?;
            return self.state(user, id).await;
        };
        check_daily_limit(&mut tx, user, agent.id).await?;
        let changed = Relation { revision, ..changed };
        rows::update(&mut tx, &changed, kind).await?;
        relation_notices::delete_of(&mut tx, id).await?;
        record(&mut tx, agent.tenant, "relation.changed", &changed).await?;
        tx.commit().await?;
        self.feed.notify();
        self.state(user, id).await
    }

    pub async fn get(&self, caller: &Caller, id: RelationId) -> Result<RelationState, ServiceError> {
        self.state(owner(caller)?, id).await
    }

    /// Returns the relation of the caller with an agent that holds, also if they cannot see the agent any more.
    pub async fn active_with(
        &self,
        caller: &Caller,
        agent: AgentId,
    ) -> Result<Option<RelationState>, ServiceError> {
        let (user, store) = (caller.person()?, &self.deps.store);
        let found = rows::find_active(store, agent, user).await?;
        Ok(states(store, &self.gaps, user, found.into_iter().collect()).await?.pop())
    }

    /// Lists relations of the caller by id, after one of them.
    pub async fn list(
        &self,
        caller: &Caller,
        page: RelationPage,
    ) -> Result<Vec<RelationState>, ServiceError> {
        let user = caller.person()?;
        let found = rows::list(&self.deps.store, user, page).await?;
        states(&self.deps.store, &self.gaps, user, found).await
    }

    /// Lists the history of a relation below an entry, newest first.
    pub async fn history(
        &self,
        caller: &Caller,
        id: RelationId,
        before: Option<i32>,
        limit: u32,
    ) -> Result<Vec<RelationChange>, ServiceError> {
        let found = self.find(owner(caller)?, id).await?;
        let before = before.unwrap_or(i32::MAX);
        Ok(relation_changes::list(&self.deps.store, found.id, before, limit).await?)
    }

    /// Notes that the caller has seen what they were told about a version. It does not wait for them any more.
    pub async fn acknowledge(
        &self,
        caller: &Caller,
        id: RelationId,
        version: i64,
    ) -> Result<(), ServiceError> {
        let user = owner(caller)?;
        let found = relation_notices::acknowledge(&self.deps.store, user, id, version).await?;
        found.then_some(()).ok_or(ServiceError::NOT_FOUND)
    }

    /// Returns what a person is shown before they agree.
    pub async fn offer(&self, caller: &Caller, agent: AgentId) -> Result<ConsentOffer, ServiceError> {
        let (user, store) = (caller.person()?, &self.deps.store);
        let found = visible_agents::find(store, agent, user).await?.ok_or(ServiceError::NOT_FOUND)?;
        let (pin, manifest) = read_manifest(&found)?;
        let earlier = match rows::find_active(store, agent, user).await? {
            Some(relation) => {
                let version = relation.manifest.version;
                let text = agent_manifests::find(store, agent, version).await?;
                let manifest = text.and_then(|text| Manifest::read_stored(&text.canonical));
                let state = states(store, &self.gaps, user, vec![relation]).await?.pop();
                state.map(|state| EarlierConsent { state, manifest })
            }
            None => None,
        };
        Ok(ConsentOffer { agent: found.agent, pin, manifest, earlier })
    }

    /// Lists the active relations of the owner of a connection.
    pub async fn list_active(&self, owner: PrincipalId) -> Result<Vec<RelationState>, ServiceError> {
        let page = RelationPage { with_ended: false, after: None, limit: MAX_RELATIONS };
        let found = rows::list(&self.deps.store, owner, page).await?;
        states(&self.deps.store, &self.gaps, owner, found).await
    }

    /// Watches what the devices of a user have to know: notices that wait, then what changes. With a revision, everything after
    /// it.
    pub async fn watch(&self, owner: PrincipalId, after: Option<i64>) -> Result<RelationWatch, ServiceError> {
        RelationWatch::open(&self.deps.store, &self.gaps, &self.feed, owner, after).await
    }

    /// The same for the stream of a caller.
    pub async fn follow(&self, caller: &Caller, after: Option<i64>) -> Result<RelationWatch, ServiceError> {
        self.watch(caller.person()?, after).await
    }

    async fn find(&self, user: PrincipalId, id: RelationId) -> Result<Relation, ServiceError> {
        rows::find(&self.deps.store, user, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    async fn state(&self, user: PrincipalId, id: RelationId) -> Result<RelationState, ServiceError> {
        let found = self.find(user, id).await?;
        let found = states(&self.deps.store, &self.gaps, user, vec![found]).await?;
        found.into_iter().next().ok_or(ServiceError::NOT_FOUND)
    }
}

/// Returns whose relations a request is about. A program has none, so it finds none.
fn owner(caller: &Caller) -> Result<PrincipalId, ServiceError> {
    caller.person().map_err(|_| ServiceError::NOT_FOUND)
}

/// An agent whose manifest does not change until the end of a transaction.
struct LockedAgent {
    agent: VisibleAgent,
    pin: ManifestPin,
    manifest: Manifest,
}

/// Locks an agent before the head of the user: whoever changes a manifest waits for the comparison, which waits for heads.
async fn lock_agent(tx: &mut Tx, agent: AgentId, user: PrincipalId) -> Result<LockedAgent, ServiceError> {
    let found = visible_agents::lock(tx, agent, user).await?.ok_or(ServiceError::NOT_FOUND)?;
    let (pin, manifest) = read_manifest(&found)?;
    Ok(LockedAgent { agent: found.agent, pin, manifest })
}

fn read_manifest(found: &visible_agents::AgentWithManifest) -> Result<(ManifestPin, Manifest), ServiceError> {
    let (Some(pin), Some(text)) = (found.agent.manifest, &found.canonical) else {
        return Err(GrantError::NoManifest.into());
    };
    // One that is not valid by the rules of today is as good as none.
    let manifest = Manifest::read_stored(text).ok_or(GrantError::NoManifest)?;
    Ok((pin, manifest))
}

/// Refuses a consent after too many of them within a day. The caller holds the head of the user.
async fn check_daily_limit(tx: &mut Tx, user: PrincipalId, agent: AgentId) -> Result<(), ServiceError> {
    match relation_changes::wait_after(tx, user, agent, MAX_DAILY_CONSENTS).await? {
        Some(wait) => Err(RelationError::TooManyToday { wait }.into()),
        None => Ok(()),
    }
}

/// Adds what their user has to know about relations.
async fn states(
    store: &Store,
    gaps: &Gaps,
    user: PrincipalId,
    relations: Vec<Relation>,
) -> Result<Vec<RelationState>, ServiceError> {
    let ids: Vec<AgentId> =
        relations.iter().map(|relation| relation.agent).collect::<BTreeSet<_>>().into_iter().collect();
    let agents = visible_agents::list_known(store, &ids, user).await?;
    let mut states = Vec::with_capacity(relations.len());
    for relation in relations {
        let Some(agent) = agents.get(&relation.agent) else { continue };
        states.push(state_of(store, gaps, relation, agent).await?);
    }
    Ok(states)
}

async fn state_of(
    store: &Store,
    gaps: &Gaps,
    relation: Relation,
    agent: &KnownAgent,
) -> Result<RelationState, ServiceError> {
    let agreed = relation.manifest.version;
    // What needed a new consent while the user could see the agent still does when they cannot. Versions before the consent say
    // nothing: it was given by somebody who could see a newer one.
    let known = agent.last_seen_version.filter(|version| agent.manifest.is_some() || *version > agreed);
    let gap = match known.filter(|_| relation.ended_at.is_none()) {
        Some(current) => {
            let pair = VersionPair { agent: relation.agent, agreed, current };
            gaps.get(store, pair).await?.as_ref().clone()
        }
        None => ConsentGap::default(),
    };
    Ok(RelationState { relation, agent: agent.clone(), gap })
}

/// Lists the notices of a user that wait, after a revision: a page with all of its last revision.
async fn open_notices(
    store: &Store,
    user: PrincipalId,
    after: i64,
) -> Result<Vec<RelationNotice>, ServiceError> {
    Ok(relation_notices::list_open(store, user, after, MAX_RELATIONS).await?)
}

async fn record(
    tx: &mut Tx,
    tenant: TenantId,
    action: &'static str,
    relation: &Relation,
) -> Result<(), ServiceError> {
    let (log, object) = (AuditLog::Tenant(tenant), relation.id.to_string());
    let event = AuditEvent { log, action, actor: Some(relation.principal), object, detail: detail(relation) };
    audit::record(tx, &event).await
}

fn detail(relation: &Relation) -> Value {
    let manifest =
        json!({ "version": relation.manifest.version, "hash": relation.manifest.hash.to_string() });
    json!({ "agent": relation.agent, "scopes": relation.granted_scopes, "manifest": manifest })
}
