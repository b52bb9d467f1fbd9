//! Listeners: a program of a developer asks for the events of a webhook, and reports what became of them. Nothing is public.

use std::time::Duration;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::KeysManage;
use guildhall_domain::ids::{WebhookEventId, WebhookId};
use guildhall_domain::webhooks::delivery::ReceiverAnswer;
use guildhall_domain::webhooks::{Webhook, WebhookSender};
use guildhall_store::webhook_events::{self as rows, AttemptResult};
use guildhall_store::{Store, agent_webhooks, webhooks};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::error::WebhookError;
use super::queue;
use super::sender::Sent;
use crate::ServiceError;

/// Events that one request returns.
const BATCH: u32 = 10;

/// An event that was handed out is handed out again after this time without a report.
const REPORT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a waiting request looks for events. Listeners are few: they serve developers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// An event that a program has to send to its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedOutEvent {
    pub event: WebhookEventId,
    /// Names this hand-out in the report.
    pub claim: Uuid,
    pub attempt: u32,
    pub body: String,
}

/// What the receiver of a program has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerReport {
    pub event: WebhookEventId,
    pub claim: Uuid,
    pub status: Option<u16>,
    pub duration: Duration,
}

/// Hands out the events of listeners.
#[derive(Debug, Clone)]
pub struct Listeners {
    store: Store,
}

impl Listeners {
    pub(super) const fn new(store: Store) -> Self {
        Self { store }
    }

    /// Waits until there are events to claim, at most for a time. It claims none: the caller's right may end meanwhile.
    pub async fn wait_for_events(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        let webhook = self.find(caller, id).await?;
        let until = Instant::now() + wait;
        agent_webhooks::touch_listener(&self.store, webhook.id).await?;
        while Instant::now() < until && !rows::has_due_of_listener(&self.store, webhook.id).await? {
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Claims the events that are due. No two of one conversation are handed out at once.
    pub async fn claim(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
    ) -> Result<Vec<HandedOutEvent>, ServiceError> {
        let webhook = self.find(caller, id).await?;
        self.hand_out(&webhook).await
    }

    /// Stores what became of an event. One that was not accepted is handed out again later.
    pub async fn report(
        &self,
        caller: &Authorized<KeysManage>,
        id: WebhookId,
        report: &ListenerReport,
    ) -> Result<(), ServiceError> {
        let webhook = self.find(caller, id).await?;
        let found = rows::find_claimed(&self.store, id, report.event, report.claim).await?;
        let event = found.ok_or(WebhookError::NotClaimed)?;
        let answer = report.status.map_or(ReceiverAnswer::Failed, ReceiverAnswer::of_status);
        let error = report.status.map_or_else(
            || "the listener cannot reach its receiver".to_owned(),
            |status| format!("the receiver answered {status}"),
        );
        let (answer, error) = match answer {
            ReceiverAnswer::Accepted => (ReceiverAnswer::Accepted, None),
            // A receiver under development answers anything: 410 does not disable its listener.
            ReceiverAnswer::Gone | ReceiverAnswer::Failed => (ReceiverAnswer::Failed, Some(error)),
        };
        let result = AttemptResult { status: report.status, duration: report.duration, error };
        let sent = Sent { answer, result, pause: None };
        queue::record(&self.store, report.claim, &webhook, &event, &sent).await
    }

    async fn find(&self, caller: &Authorized<KeysManage>, id: WebhookId) -> Result<Webhook, ServiceError> {
        let found = webhooks::find(&self.store, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)?;
        match (found.sender, found.is_enabled()) {
            (WebhookSender::Server, _) => Err(WebhookError::NoListener.into()),
            (WebhookSender::Listener, false) => Err(WebhookError::Disabled.into()),
            (WebhookSender::Listener, true) => Ok(found),
        }
    }

    async fn hand_out(&self, webhook: &Webhook) -> Result<Vec<HandedOutEvent>, ServiceError> {
        let claim = Uuid::now_v7();
        let lanes = rows::claim_of_listener(&self.store, webhook.id, claim, BATCH, REPORT_TIMEOUT).await?;
        if lanes.is_empty() {
            return Ok(Vec::new());
        }
        let mut events = queue::begin(&self.store, lanes, claim).await?;
        events.sort_by_key(|event| event.number);
        let mut handed_out = Vec::with_capacity(events.len());
        for event in events {
            let body = queue::body(&self.store, &event).await?;
            handed_out.push(HandedOutEvent { event: event.event, claim, attempt: event.attempt, body });
        }
        Ok(handed_out)
    }
}
