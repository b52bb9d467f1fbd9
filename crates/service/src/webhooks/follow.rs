//! Tells the webhooks of agents about new messages.
//!
//! An inbox is a journal, so nothing is written when a message is sent. Each webhook has a cursor; any replica reads what is
//! behind it, and stores the events and the new cursor in one transaction.

use std::error::Error;
use std::time::{Duration, Instant};

use guildhall_domain::ids::{WebhookEventId, WebhookId};
use guildhall_domain::webhooks::agent_message::{AgentMessage, ClearParts, event_data};
use guildhall_domain::webhooks::message;
use guildhall_runtime::reconcile::{Reconciler, Signal};
use guildhall_store::agent_webhooks::{self as rows, BehindWebhook, ReadLimits};
use guildhall_store::webhook_events::{self, NewWebhookEvent, SentMessageRef};
use guildhall_store::{Store, StoreError, Tx};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

use crate::ServiceError;
use crate::messages::GrowthWatch;

/// Inboxes whose growth is noticed at once. Those beyond wait for the timer.
const MAX_WATCHED: u32 = 100_000;

/// Webhooks that are pointed at another inbox in one round.
const MAX_MOVED: u32 = 1_000;

/// Webhooks that read a page each, before those that waited longest are looked for again: one with many messages delays no other.
const TURN: u32 = 100;

/// What one transaction reads.
const READ: ReadLimits = ReadLimits { messages: 100, bytes: 4 * 1024 * 1024 };

/// A round ends after this time, so that it is shorter than the reconciler's timeout.
const MAX_ROUND: Duration = Duration::from_secs(20);

/// Webhooks whose messages cannot be enqueued in one round. They hold up no other.
#[derive(Debug, Default)]
struct FailedWebhooks {
    ids: Vec<WebhookId>,
    first_error: Option<StoreError>,
}

impl FailedWebhooks {
    fn add(&mut self, id: WebhookId, error: StoreError) {
        warn!(webhook.id = %id, error = &error as &dyn Error, "cannot enqueue the messages for webhook {id}");
        self.ids.push(id);
        if self.first_error.is_none() {
            self.first_error = Some(error);
        }
    }
}

/// Enqueues events for the webhooks of agents.
#[derive(Debug, Clone)]
pub struct FollowInboxes {
    store: Store,
    growth: GrowthWatch,
    /// Wakes the sender on this replica.
    sender: Signal,
    stop: CancellationToken,
}

impl FollowInboxes {
    /// Without an announcement, inboxes are looked at this often.
    pub const INTERVAL: Duration = Duration::from_secs(5);

    #[must_use]
    pub fn new(store: Store, growth: GrowthWatch, sender: Signal, stop: CancellationToken) -> Self {
        Self { store, growth, sender, stop }
    }

    /// Signals the reconciler when an inbox has grown.
    pub fn notify(&self, signal: Signal) {
        self.growth.notify(signal);
    }

    /// Reads a page for each of some webhooks. Returns false if another replica reads for all of them.
    async fn read_in_turn(
        &self,
        webhooks: &[WebhookId],
        failed: &mut FailedWebhooks,
        deadline: Instant,
    ) -> Result<bool, StoreError> {
        let mut has_read = false;
        for webhook in webhooks {
            if Instant::now() >= deadline || self.stop.is_cancelled() {
                return Ok(false);
            }
            has_read |= self.read_on(*webhook, failed).await?;
        }
        Ok(has_read)
    }

    /// Reads on for a webhook. Returns false if it is not behind, or another replica reads for it.
    async fn read_on(&self, webhook: WebhookId, failed: &mut FailedWebhooks) -> Result<bool, StoreError> {
        let mut tx = self.store.begin().await?;
        let Some(behind) = rows::lock_behind(&mut tx, webhook).await? else {
            tx.rollback().await?;
            return Ok(false);
        };
        match read_page(tx, &behind).await {
            Ok(0) => {}
            Ok(_waiting) => self.sender.notify(),
            Err(error) => failed.add(behind.webhook, error),
        }
        Ok(true)
    }
}

/// Enqueues the next messages for a locked webhook. Returns how many events wait.
async fn read_page(mut tx: Tx, behind: &BehindWebhook) -> Result<u64, StoreError> {
    let read = rows::list_messages(&mut tx, behind, READ).await?;
    // What is not there any more up to the end has expired, or was an own copy.
    let read_to = read.read_to.unwrap_or(behind.last_seq);
    let events: Vec<NewWebhookEvent> =
        read.messages.iter().filter_map(|message| new_event(behind, message)).collect();
    let waiting = match events.as_slice() {
        [] => 0,
        events => webhook_events::insert(&mut tx, behind.webhook, events).await?,
    };
    rows::set_read_to(&mut tx, behind.webhook, read_to).await?;
    tx.commit().await?;
    Ok(waiting)
}

/// Returns the event of a message, if the webhook is told about it.
fn new_event(behind: &BehindWebhook, message: &AgentMessage) -> Option<NewWebhookEvent> {
    let clear = ClearParts::read(message.kind, &message.content);
    behind.events.contains(&clear.event).then(|| NewWebhookEvent {
        event: event_id(behind, message),
        event_type: clear.event,
        lane: Some(clear.lane(&message.from)),
        body: message::body(clear.event, message.sent_at, &event_data(message, &clear)),
        message: Some(SentMessageRef { inbox: behind.inbox, seq: message.seq }),
    })
}

/// The id follows from the message: it is the same for every webhook of the agent, and a message that is read twice is one event.
fn event_id(behind: &BehindWebhook, message: &AgentMessage) -> WebhookEventId {
    let place = Uuid::from_u64_pair(behind.inbox.get().cast_unsigned(), message.seq.get().cast_unsigned());
    WebhookEventId::from_uuid(Uuid::from_u128(behind.agent.as_uuid().as_u128() ^ place.as_u128()))
}

impl Reconciler for FollowInboxes {
    type Error = ServiceError;
    const NAME: &'static str = "webhook-inboxes";

    async fn round(&self) -> Result<(), ServiceError> {
        let deadline = Instant::now() + MAX_ROUND;
        // Growth is a hint: the cursors say what is behind.
        let _hints = self.growth.take_grown();
        rows::sync(&self.store, MAX_MOVED).await?;
        rows::skip_foreign(&self.store, MAX_MOVED).await?;
        self.growth.watch(rows::list_inboxes(&self.store, MAX_WATCHED).await?);
        let mut failed = FailedWebhooks::default();
        loop {
            let behind = rows::list_behind(&self.store, &failed.ids, TURN).await?;
            if !self.read_in_turn(&behind, &mut failed, deadline).await? {
                break;
            }
        }
        failed.first_error.map_or(Ok(()), |error| Err(error.into()))
    }
}
