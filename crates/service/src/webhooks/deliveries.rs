//! The log of deliveries, and events that are sent again on request.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::KeysManage;
use guildhall_domain::ids::WebhookId;
use guildhall_domain::webhooks::log::{DeliveryState, MAX_RESENT, ResendSelection, WebhookDelivery};
use guildhall_store::webhook_events::{self as rows, DeliveryPage};
use guildhall_store::webhooks;
use serde_json::json;

use super::error::WebhookError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::deps::Deps;

/// Events that one transaction enqueues again.
const RESEND_BATCH: u32 = 500;

/// What of the log is shown.
#[derive(Debug, Clone, Copy)]
pub struct LogQuery {
    /// Events before this number; the newest ones without it.
    pub before: Option<i64>,
    /// Only events in this state.
    pub state: Option<DeliveryState>,
    pub limit: u32,
}

/// A page of the log.
#[derive(Debug, Clone)]
pub struct LogPage {
    pub deliveries: Vec<WebhookDelivery>,
    /// The next page begins before this number; none after the last page.
    pub next_before: Option<i64>,
}

/// Shows what became of events, and sends them again.
#[derive(Debug, Clone)]
pub struct Deliveries {
    deps: Deps,
}

impl Deliveries {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Lists the events of a webhook with their attempts, newest first.
    pub async fn list(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
        query: &LogQuery,
    ) -> Result<LogPage, ServiceError> {
        let store = &self.deps.store;
        webhooks::find(store, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let states = query.state.as_ref().map_or(DeliveryState::ALL, std::slice::from_ref);
        let page = DeliveryPage { before: query.before, states, limit: query.limit.saturating_add(1) };
        let mut deliveries = rows::list(store, id, &page).await?;
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let is_last = deliveries.len() <= limit;
        deliveries.truncate(limit);
        let next_before = deliveries.last().map(|last| last.number).filter(|_| !is_last);
        Ok(LogPage { deliveries, next_before })
    }

    /// Sends events again, in their order. Returns how many. Where there are more than one request handles, the oldest ones.
    pub async fn resend(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
        selection: &ResendSelection,
    ) -> Result<u32, ServiceError> {
        let (mut total, mut after) = (0, 0);
        while total < MAX_RESENT {
            let mut tx = self.deps.store.begin().await?;
            let webhook =
                webhooks::lock(&mut tx, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)?;
            if !webhook.is_enabled() {
                return Err(WebhookError::Disabled.into());
            }
            let limit = RESEND_BATCH.min(MAX_RESENT - total);
            let (count, last) = rows::resend(&mut tx, id, selection, after, limit).await?;
            if count > 0 {
                let detail = json!({ "events": count });
                let event = AuditEvent::by_member(caller, "webhook.resent", id.to_string(), detail);
                audit::record(&mut tx, &event).await?;
            }
            tx.commit().await?;
            total += count;
            match last {
                Some(last) if count == limit => after = last,
                Some(_) | None => break,
            }
        }
        match selection {
            ResendSelection::Event(_) if total == 0 => Err(ServiceError::NOT_FOUND),
            ResendSelection::Event(_) | ResendSelection::Window { .. } => Ok(total),
        }
    }
}
