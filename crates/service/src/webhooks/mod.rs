//! Webhooks: endpoints of tenants that are told about events.
//!
//! An event is enqueued in the transaction that causes it (`events`), and sent by the outbox ([`deliver`]).

pub mod deliver;
pub mod error;
pub(crate) mod events;

use std::sync::Arc;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::KeysManage;
use guildhall_domain::ids::{WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::url::{WebhookHost, WebhookUrl};
use guildhall_domain::webhooks::{MAX_WEBHOOKS, ROTATION_OVERLAP, Webhook, check_events};
use guildhall_egress::AddressRules;
use guildhall_identity::webhook_secret::WebhookSecret;
use guildhall_store::webhooks as rows;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::json;

use self::error::WebhookError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::deps::Deps;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub webhooks: Webhooks,
}

/// Opens the group. The rules say which addresses the server may call.
#[must_use]
pub fn open(deps: &Deps, rules: AddressRules) -> Group {
    Group { webhooks: Webhooks { deps: deps.clone(), rules: Arc::new(rules) } }
}

/// A webhook to create.
#[derive(Debug, Clone)]
pub struct NewWebhook {
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

/// Creates, lists, tests and deletes webhooks.
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
        let NewWebhook { url, events, description } = new;
        check_events(events).map_err(WebhookError::from)?;
        self.check_address(url)?;
        let tenant = caller.tenant();
        let mut tx = self.deps.store.begin().await?;
        let id = WebhookId::generate();
        let body = json!(["webhook", tenant, url.as_str(), events, description]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            return Ok(CreatedWebhook { id: WebhookId::from_uuid(created), secret: None });
        }
        if rows::lock_and_count(&mut tx, tenant).await? >= MAX_WEBHOOKS {
            return Err(WebhookError::TooMany.into());
        }
        let secret = WebhookSecret::generate();
        let row = rows::NewWebhook {
            id,
            tenant,
            url,
            events,
            description,
            sealed_secret: &self.seal(id, &secret)?,
            created_by: caller.principal,
        };
        rows::insert(&mut tx, &row).await?;
        // Only the host: the rest of the URL may hold a token of the receiver.
        let detail = json!({ "host": url.authority(), "events": events });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "webhook.created", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        Ok(CreatedWebhook { id, secret: Some(secret.to_text()) })
    }

    /// Lists the webhooks of a tenant. For those who manage them: a URL may hold a token of the receiver.
    pub async fn list(&self, caller: &Authorized<KeysManage>) -> Result<Vec<Webhook>, ServiceError> {
        Ok(rows::list(&self.deps.store, caller.tenant(), MAX_WEBHOOKS).await?)
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

    /// Enqueues a test event for one webhook. Returns its id, which is in a header of the request.
    pub async fn send_test(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
    ) -> Result<WebhookEventId, ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        let webhook = rows::lock(&mut tx, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)?;
        if !webhook.is_enabled() {
            return Err(WebhookError::Disabled.into());
        }
        let event = events::enqueue_test(&mut tx, &webhook, self.deps.clock.now()).await?;
        let detail = json!({ "eventId": event });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "webhook.tested", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        Ok(event)
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
