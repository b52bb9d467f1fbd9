//! Disables a webhook, and tells about it.

use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::{DisableReason, Webhook};
use guildhall_store::{Store, retention, webhooks as rows};
use serde_json::json;
use tracing::warn;

use super::events::{self, NewEvent};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};

/// Disables a webhook whose receiver wants or accepts nothing more. The other webhooks of its tenant are told.
pub(super) async fn disable(
    store: &Store,
    webhook: &Webhook,
    reason: DisableReason,
) -> Result<(), ServiceError> {
    let occurred_at = retention::now(store).await?;
    let mut tx = store.begin().await?;
    if rows::disable(&mut tx, webhook.tenant, webhook.id, reason).await? {
        let event = AuditEvent {
            log: AuditLog::Tenant(webhook.tenant),
            action: "webhook.disabled",
            actor: None,
            object: webhook.id.to_string(),
            detail: json!({ "host": webhook.url.authority(), "reason": reason }),
        };
        audit::record(&mut tx, &event).await?;
        let data = json!({
            "webhookId": webhook.id,
            "agentId": webhook.agent,
            "host": webhook.url.authority(),
            "reason": reason,
        });
        let new = NewEvent { event_type: WebhookEventType::WebhookDisabled, occurred_at, data };
        events::enqueue_except(&mut tx, webhook.tenant, Some(webhook.id), &new).await?;
        // Where it is the only webhook of its tenant, nobody else is told.
        let (id, host) = (webhook.id, webhook.url.authority());
        warn!(webhook.id = %id, tenant.id = %webhook.tenant, %host, %reason, "webhook {id} is disabled: {reason}");
    }
    Ok(tx.commit().await?)
}
