//! Webhooks: endpoints of tenants and agents that are told about events.
//!
//! An event of a tenant is enqueued in the transaction that causes it (`events`), one of an agent when its inbox has grown
//! ([`follow`]). [`queue`] sends both, and [`deliveries`] shows what became of them.

pub mod cleanup;
pub mod deliveries;
mod disable;
pub mod earlier_events;
pub mod error;
pub(crate) mod events;
pub mod follow;
pub mod listeners;
pub mod queue;
pub mod sender;

use std::sync::Arc;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::KeysManage;
use guildhall_domain::ids::{AgentId, TenantId, WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::{WebhookEventType, WebhookScope};
use guildhall_domain::webhooks::url::{WebhookHost, WebhookUrl};
use guildhall_domain::webhooks::{
    DisableReason, MAX_AGENT_WEBHOOKS, MAX_ALL_WEBHOOKS, MAX_WEBHOOKS, ROTATION_OVERLAP, Webhook,
    WebhookSender, check_events,
};
use guildhall_egress::AddressRules;
use guildhall_identity::webhook_secret::WebhookSecret;
use guildhall_store::{agents, webhooks as rows};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::json;

use self::deliveries::Deliveries;
use self::error::WebhookError;
use self::events::NewEvent;
use self::listeners::Listeners;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::deps::Deps;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub webhooks: Webhooks,
    pub deliveries: Deliveries,
    pub listeners: Listeners,
}

/// Opens the group. The rules say which addresses the server may call.
#[must_use]
pub fn open(deps: &Deps, rules: AddressRules) -> Group {
    Group {
        webhooks: Webhooks { deps: deps.clone(), rules: Arc::new(rules) },
        deliveries: Deliveries::new(deps.clone()),
        listeners: Listeners::new(deps.store.clone()),
    }
}

/// A webhook to create.
#[derive(Debug, Clone)]
pub struct NewWebhook {
    /// The agent whose messages it is told about, and who sends its events; none for a webhook of the tenant.
    pub agent: Option<(AgentId, WebhookSender)>,
    pub url: WebhookUrl,
    pub events: Vec<WebhookEventType>,
    pub description: String,
}

/// A created webhook. The secret is returned once; an idempotent replay has none.
#[derive(Debug, Clone)]
pub struct CreatedWebhook {
    pub id: WebhookId,
    pub secret: Option<SecretString>,
}

/// The new secret of a webhook, returned once.
#[derive(Debug, Clone)]
pub struct RotatedSecret {
    pub secret: SecretString,
    /// Until then, the previous secret signs too.
    pub previous_ends_at: Timestamp,
}

/// Creates, lists, changes, tests and deletes webhooks.
#[derive(Debug, Clone)]
pub struct Webhooks {
    deps: Deps,
    rules: Arc<AddressRules>,
}

impl Webhooks {
    pub async fn create(
        &self,
        caller: &Authorized<KeysManage>,
        new: &NewWebhook,
        key: Option<&IdempotencyKey>,
    ) -> Result<CreatedWebhook, ServiceError> {
        let NewWebhook { agent, url, events, description } = new;
        let scope = if agent.is_some() { WebhookScope::Agent } else { WebhookScope::Tenant };
        check_events(scope, events).map_err(WebhookError::from)?;
        let tenant = caller.tenant();
        self.check_target(tenant, *agent, url).await?;
        let mut tx = self.deps.store.begin().await?;
        let id = WebhookId::generate();
        let mut body = json!(["webhook", tenant, url.as_str(), events, description]);
        // Not for those of tenants: their keys may be of an earlier version.
        if let (Some(agent), Some(parts)) = (agent, body.as_array_mut()) {
            parts.push(json!(agent));
        }
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            return Ok(CreatedWebhook { id: WebhookId::from_uuid(created), secret: None });
        }
        let counts = rows::lock_and_count(&mut tx, tenant, agent.map(|(agent, _)| agent)).await?;
        let limit = if agent.is_some() { MAX_AGENT_WEBHOOKS } else { MAX_WEBHOOKS };
        if counts.same >= limit {
            return Err(WebhookError::TooMany(limit).into());
        }
        if counts.all >= MAX_ALL_WEBHOOKS {
            return Err(WebhookError::TooManyOfTenant.into());
        }
        let secret = WebhookSecret::generate();
        let row = rows::NewWebhook {
            id,
            tenant,
            agent: *agent,
            url,
            events,
            description,
            sealed_secret: &self.seal(id, &secret)?,
            created_by: caller.principal,
        };
        rows::insert(&mut tx, &row).await?;
        // Only the host: the rest of the URL may hold a token of the receiver.
        let mut detail = json!({ "host": url.authority(), "events": events });
        if let Some((agent, sender)) = agent {
            detail["agentId"] = json!(agent);
            detail["sender"] = json!(sender);
        }
        audit::record(&mut tx, &AuditEvent::by_member(caller, "webhook.created", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        Ok(CreatedWebhook { id, secret: Some(secret.to_text()) })
    }

    /// Lists the webhooks of a tenant. For those who manage them: a URL may hold a token of the receiver.
    pub async fn list(&self, caller: &Authorized<KeysManage>) -> Result<Vec<Webhook>, ServiceError> {
        Ok(rows::list(&self.deps.store, caller.tenant(), MAX_ALL_WEBHOOKS).await?)
    }

    pub async fn find(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
    ) -> Result<Webhook, ServiceError> {
        rows::find(&self.deps.store, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Returns the tenant of a webhook, for the check of the caller's right.
    pub async fn tenant_of(&self, id: WebhookId) -> Result<Option<TenantId>, ServiceError> {
        Ok(rows::find_tenant(&self.deps.store, id).await?)
    }

    /// Enables a webhook, or disables it. What it has missed is sent on request only.
    pub async fn set_enabled(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
        enabled: bool,
    ) -> Result<Webhook, ServiceError> {
        let tenant = caller.tenant();
        let mut tx = self.deps.store.begin().await?;
        rows::lock(&mut tx, tenant, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let (changed, action, detail) = if enabled {
            (rows::enable(&mut tx, tenant, id).await?, "webhook.enabled", json!({}))
        } else {
            let reason = DisableReason::Manual;
            let changed = rows::disable(&mut tx, tenant, id, reason).await?;
            (changed, "webhook.disabled", json!({ "reason": reason }))
        };
        if changed {
            audit::record(&mut tx, &AuditEvent::by_member(caller, action, id.to_string(), detail)).await?;
        }
        tx.commit().await?;
        self.find(caller, id).await
    }

    /// Deletes a webhook. What was enqueued for it is not sent.
    pub async fn delete(&self, caller: &Authorized<KeysManage>, id: WebhookId) -> Result<(), ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        if !rows::delete(&mut tx, caller.tenant(), id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        let event = AuditEvent::by_member(caller, "webhook.deleted", id.to_string(), json!({}));
        audit::record(&mut tx, &event).await?;
        Ok(tx.commit().await?)
    }

    /// Creates a new secret. The replaced one signs too for a while; an older one does not any more.
    pub async fn rotate(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
    ) -> Result<RotatedSecret, ServiceError> {
        let tenant = caller.tenant();
        let mut tx = self.deps.store.begin().await?;
        rows::lock(&mut tx, tenant, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let secret = WebhookSecret::generate();
        let ends_at = self.deps.clock.now() + ROTATION_OVERLAP;
        // Whole seconds: the store has microseconds, and the response must show what is stored.
        let previous_ends_at = Timestamp::from_second(ends_at.as_second()).unwrap_or(ends_at);
        rows::rotate(&mut tx, tenant, id, &self.seal(id, &secret)?, previous_ends_at).await?;
        let detail = json!({ "previousSecretEndsAt": previous_ends_at });
        let event = AuditEvent::by_member(caller, "webhook.secret-rotated", id.to_string(), detail);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(RotatedSecret { secret: secret.to_text(), previous_ends_at })
    }

    /// Enqueues a sample event for one webhook, marked as a test. Returns its id, which is in a header of the request.
    pub async fn send_sample(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
        event_type: WebhookEventType,
    ) -> Result<WebhookEventId, ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        let webhook = rows::lock(&mut tx, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)?;
        if !webhook.is_enabled() {
            return Err(WebhookError::Disabled.into());
        }
        let event = WebhookEventId::generate();
        let data = event_type.sample(id);
        let new = NewEvent { event_type, occurred_at: self.deps.clock.now(), data };
        events::enqueue_for(&mut tx, &webhook, event, &new).await?;
        let detail = json!({ "eventId": event });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "webhook.tested", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        Ok(event)
    }

    /// Checks that the agent is one of the tenant, and that the server may call the URL if it is the one to call.
    async fn check_target(
        &self,
        tenant: TenantId,
        agent: Option<(AgentId, WebhookSender)>,
        url: &WebhookUrl,
    ) -> Result<(), ServiceError> {
        let sender = match agent {
            None => WebhookSender::Server,
            Some((agent, sender)) => {
                if agents::find_tenant(&self.deps.store, agent).await? != Some(tenant) {
                    return Err(WebhookError::UnknownAgent.into());
                }
                sender
            }
        };
        match sender {
            WebhookSender::Server => Ok(self.check_address(url)?),
            WebhookSender::Listener => Ok(()),
        }
    }

    /// Refuses a URL that the server would never call. A name is checked again each time it is resolved.
    fn check_address(&self, url: &WebhookUrl) -> Result<(), WebhookError> {
        match url.host() {
            WebhookHost::Name(name) => self.rules.check_name(name),
            WebhookHost::Address(address) => self.rules.check(address),
        }
        .map_err(WebhookError::Address)
    }

    fn seal(&self, id: WebhookId, secret: &WebhookSecret) -> Result<Vec<u8>, WebhookError> {
        self.deps.payload_sealer.seal_webhook_secret(id.as_uuid(), secret).map_err(WebhookError::Seal)
    }
}
