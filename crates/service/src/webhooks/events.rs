//! Enqueues events for webhooks, in the transaction that causes them.

use guildhall_domain::ids::{AgentId, TenantId, WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::{Webhook, message};
use guildhall_store::webhook_events::{self, NewWebhookEvent};
use guildhall_store::{Tx, webhooks as rows};
use jiff::Timestamp;
use serde_json::Value;

use crate::ServiceError;

/// An event that a tenant is told about, or who observes an agent.
#[derive(Debug, Clone)]
pub(crate) struct NewEvent {
    pub(crate) event_type: WebhookEventType,
    pub(crate) occurred_at: Timestamp,
    /// Without secrets, and without text that may hold one: it leaves the installation.
    pub(crate) data: Value,
}

/// Enqueues an event for every webhook of a tenant that is told about it: a slow receiver does not delay the others. A disabled
/// one misses it, and can be sent it later.
pub(crate) async fn enqueue(tx: &mut Tx, tenant: TenantId, new: &NewEvent) -> Result<(), ServiceError> {
    enqueue_except(tx, tenant, None, new).await
}

/// Tells the other webhooks of a tenant about one of them.
pub(super) async fn enqueue_except(
    tx: &mut Tx,
    tenant: TenantId,
    except: Option<WebhookId>,
    new: &NewEvent,
) -> Result<(), ServiceError> {
    let webhooks = rows::load_of_tenant(tx, tenant).await?;
    let event = WebhookEventId::generate();
    let told = webhooks.iter().filter(|webhook| webhook.is_told_about(new.event_type));
    for webhook in told.filter(|webhook| Some(webhook.id) != except) {
        enqueue_for(tx, webhook, event, new).await?;
    }
    Ok(())
}

/// Enqueues an event for every webhook of an agent that is told about it. Events of one lane are sent in order.
pub(crate) async fn enqueue_for_agent(
    tx: &mut Tx,
    agent: AgentId,
    lane: &str,
    new: &NewEvent,
) -> Result<(), ServiceError> {
    let webhooks = rows::load_of_agent(tx, agent).await?;
    let event = WebhookEventId::generate();
    for webhook in webhooks.iter().filter(|webhook| webhook.is_told_about(new.event_type)) {
        insert(tx, webhook, event, Some(lane), new).await?;
    }
    Ok(())
}

/// Enqueues an event for one webhook.
pub(super) async fn enqueue_for(
    tx: &mut Tx,
    webhook: &Webhook,
    event: WebhookEventId,
    new: &NewEvent,
) -> Result<(), ServiceError> {
    insert(tx, webhook, event, None, new).await
}

async fn insert(
    tx: &mut Tx,
    webhook: &Webhook,
    event: WebhookEventId,
    lane: Option<&str>,
    new: &NewEvent,
) -> Result<(), ServiceError> {
    let lane = lane.map(str::to_owned);
    let body = message::body(new.event_type, new.occurred_at, &new.data);
    let row = NewWebhookEvent { event, event_type: new.event_type, lane, body, message: None };
    webhook_events::insert(tx, webhook.id, &[row]).await?;
    Ok(())
}
