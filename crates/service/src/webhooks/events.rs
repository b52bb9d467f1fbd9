//! Enqueues events for webhooks, in the transaction that causes them.

use guildhall_domain::ids::{TenantId, WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::{MAX_WEBHOOKS, Webhook, message};
use guildhall_store::{Tx, webhooks as rows};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ServiceError;
use crate::ops::outbox;

/// The kind of the outbox effects. Its meaning never changes.
pub(super) const DELIVER: &str = "webhook.deliver";

/// An event that a tenant is told about.
#[derive(Debug, Clone)]
pub(crate) struct NewEvent {
    pub(crate) event_type: WebhookEventType,
    pub(crate) occurred_at: Timestamp,
    /// Without secrets, and without text that may hold one: it leaves the installation.
    pub(crate) data: Value,
}

/// The body of an outbox effect: one event for one webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delivery {
    pub(super) tenant: TenantId,
    pub(super) webhook: WebhookId,
    pub(super) event: WebhookEventId,
    /// The body of the request. Built once, so that every attempt sends the same text, whatever replica makes it.
    pub(super) body: String,
}

/// Enqueues an event for every webhook of a tenant that receives it, each as its own effect: a slow receiver does not
/// delay the others.
pub(crate) async fn enqueue(tx: &mut Tx, tenant: TenantId, new: &NewEvent) -> Result<(), ServiceError> {
    let webhooks = rows::load_all(tx, tenant, MAX_WEBHOOKS).await?;
    let event = WebhookEventId::generate();
    for webhook in webhooks.iter().filter(|webhook| webhook.receives(new.event_type)) {
        enqueue_for(tx, webhook, event, new).await?;
    }
    Ok(())
}

/// Enqueues a test event for one webhook.
pub(super) async fn enqueue_test(
    tx: &mut Tx,
    webhook: &Webhook,
    occurred_at: Timestamp,
) -> Result<WebhookEventId, ServiceError> {
    let event = WebhookEventId::generate();
    let data = json!({ "webhookId": webhook.id });
    let new = NewEvent { event_type: WebhookEventType::Test, occurred_at, data };
    enqueue_for(tx, webhook, event, &new).await?;
    Ok(event)
}

async fn enqueue_for(
    tx: &mut Tx,
    webhook: &Webhook,
    event: WebhookEventId,
    new: &NewEvent,
) -> Result<(), ServiceError> {
    let body = message::body(new.event_type, new.occurred_at, &new.data);
    let delivery = Delivery { tenant: webhook.tenant, webhook: webhook.id, event, body };
    outbox::enqueue(tx, DELIVER, Some(webhook.tenant), &json!(delivery)).await?;
    Ok(())
}
