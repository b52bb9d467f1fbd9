//! The queue: events wait in lanes, and whoever has claimed a lane sends its first event.

use std::collections::BTreeMap;
use std::time::Duration;

use guildhall_domain::ids::{TenantId, WebhookEventId, WebhookId};
use guildhall_domain::messages::{InboxId, InboxSeq, MessageContent};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::log::DeliveryState;
use uuid::Uuid;

use crate::inboxes::seq;
use crate::{Store, StoreError, Tx};

/// The place of a message in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentMessageRef {
    pub inbox: InboxId,
    pub seq: InboxSeq,
}

/// An event to enqueue for one webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhookEvent {
    pub event: WebhookEventId,
    pub event_type: WebhookEventType,
    /// Events of one lane are sent in order; none for an event that waits for no other.
    pub lane: Option<String>,
    pub body: String,
    /// The message whose envelope goes into the body at each attempt.
    pub message: Option<SentMessageRef>,
}

/// Events of one webhook, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    pub webhook: WebhookId,
    pub lane: String,
}

/// How many lanes a worker claims.
#[derive(Debug, Clone, Copy)]
pub struct ClaimLimits<'a> {
    pub lanes: u32,
    /// Lanes of one tenant that are served at once, including [`Self::served`].
    pub of_tenant: u32,
    /// How many lanes of which tenants this worker serves already.
    pub served: &'a BTreeMap<TenantId, u32>,
    /// Other workers do not see the claimed lanes for this long, on the clock of PostgreSQL.
    pub visibility_timeout: Duration,
}

/// Lanes that were claimed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedLanes {
    pub lanes: Vec<Lane>,
    /// How many were due, up to the limit. Those over the limit of their tenant were not claimed.
    pub due: u32,
}

/// The first event of a claimed lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventToSend {
    pub number: i64,
    pub webhook: WebhookId,
    pub tenant: TenantId,
    pub lane: String,
    pub event: WebhookEventId,
    pub body: String,
    pub message: Option<SentMessageRef>,
    /// Counted from 1, including this one.
    pub attempt: u32,
}

/// What an attempt met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptResult {
    /// None without an answer.
    pub status: Option<u16>,
    pub duration: Duration,
    /// Names the host at most.
    pub error: Option<String>,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    Delivered,
    Missed,
    Retry { after: Duration },
}

/// Enqueues events of one webhook in this order. Those of a disabled webhook are missed; for a deleted one there are none.
/// Returns how many wait.
pub async fn insert(tx: &mut Tx, webhook: WebhookId, events: &[NewWebhookEvent]) -> Result<u64, StoreError> {
    let ids: Vec<Uuid> = events.iter().map(|event| event.event.as_uuid()).collect();
    let types: Vec<String> = events.iter().map(|event| event.event_type.to_string()).collect();
    let lane = |event: &NewWebhookEvent| event.lane.clone().unwrap_or_else(|| event.event.to_string());
    let lanes: Vec<String> = events.iter().map(lane).collect();
    let bodies: Vec<String> = events.iter().map(|event| event.body.clone()).collect();
    let inboxes: Vec<Option<i64>> =
        events.iter().map(|event| event.message.map(|message| message.inbox.get())).collect();
    let seqs: Vec<Option<i64>> =
        events.iter().map(|event| event.message.map(|message| message.seq.get())).collect();
    let row = sqlx::query_file!(
        "queries/webhook_events/insert.sql",
        webhook.as_uuid(),
        &ids,
        &types,
        &lanes,
        &bodies,
        &inboxes as &[Option<i64>],
        &seqs as &[Option<i64>]
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(u64::try_from(row.waiting).unwrap_or_default())
}

/// Claims lanes that are due. Concurrent workers get different ones.
pub async fn claim(store: &Store, claim: Uuid, limits: &ClaimLimits<'_>) -> Result<ClaimedLanes, StoreError> {
    let tenants: Vec<Uuid> = limits.served.keys().map(|tenant| tenant.as_uuid()).collect();
    let counts: Vec<i64> = limits.served.values().copied().map(i64::from).collect();
    let rows = sqlx::query_file!(
        "queries/webhook_lanes/claim.sql",
        i64::from(limits.lanes),
        claim,
        limits.visibility_timeout.as_secs_f64(),
        i64::from(limits.of_tenant),
        &tenants,
        &counts
    )
    .fetch_all(&store.pool)
    .await?;
    let due = rows.first().map_or(0, |row| u32::try_from(row.due).unwrap_or(u32::MAX));
    let lanes =
        rows.into_iter().map(|row| Lane { webhook: WebhookId::from_uuid(row.webhook), lane: row.lane });
    Ok(ClaimedLanes { lanes: lanes.collect(), due })
}

/// Returns whether a listener has lanes to claim.
pub async fn has_due_of_listener(store: &Store, webhook: WebhookId) -> Result<bool, StoreError> {
    let found = sqlx::query_file_scalar!("queries/webhook_lanes/has_due_of_listener.sql", webhook.as_uuid());
    Ok(found.fetch_one(&store.pool).await?)
}

/// Claims lanes of a listener.
pub async fn claim_of_listener(
    store: &Store,
    webhook: WebhookId,
    claim: Uuid,
    limit: u32,
    visibility_timeout: Duration,
) -> Result<Vec<Lane>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/webhook_lanes/claim_of_listener.sql",
        webhook.as_uuid(),
        i64::from(limit),
        claim,
        visibility_timeout.as_secs_f64()
    )
    .fetch_all(&store.pool)
    .await?;
    Ok(rows.into_iter().map(|row| Lane { webhook, lane: row.lane }).collect())
}

/// Begins an attempt with the first event of each claimed lane. A lane without one is not in the result.
pub async fn begin_attempts(store: &Store, lanes: &[Lane]) -> Result<Vec<EventToSend>, StoreError> {
    let webhooks: Vec<Uuid> = lanes.iter().map(|lane| lane.webhook.as_uuid()).collect();
    let names: Vec<String> = lanes.iter().map(|lane| lane.lane.clone()).collect();
    let rows = sqlx::query_file_as!(EventRow, "queries/webhook_events/begin_attempts.sql", &webhooks, &names)
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(EventRow::into_event).collect())
}

/// Returns an event of a claimed lane; none if the claim has expired.
pub async fn find_claimed(
    store: &Store,
    webhook: WebhookId,
    event: WebhookEventId,
    claim: Uuid,
) -> Result<Option<EventToSend>, StoreError> {
    let row = sqlx::query_file_as!(
        EventRow,
        "queries/webhook_events/find_claimed.sql",
        webhook.as_uuid(),
        event.as_uuid(),
        claim
    );
    Ok(row.fetch_optional(&store.pool).await?.map(EventRow::into_event))
}

/// The columns of an event that is sent.
struct EventRow {
    number: i64,
    webhook: Uuid,
    tenant: Uuid,
    lane: String,
    event: Uuid,
    body: String,
    inbox: Option<i64>,
    seq: Option<i64>,
    attempts: i32,
}

impl EventRow {
    fn into_event(self) -> EventToSend {
        EventToSend {
            number: self.number,
            webhook: WebhookId::from_uuid(self.webhook),
            tenant: TenantId::from_uuid(self.tenant),
            lane: self.lane,
            event: WebhookEventId::from_uuid(self.event),
            body: self.body,
            message: self
                .inbox
                .zip(self.seq)
                .map(|(inbox, number)| SentMessageRef { inbox: InboxId::new(inbox), seq: seq(number) }),
            attempt: u32::try_from(self.attempts).unwrap_or(u32::MAX),
        }
    }
}

/// Stores what became of an attempt, and gives the lane back. Returns `false` if the claim had expired. Without a result, the
/// event was not tried.
pub async fn finish(
    store: &Store,
    event: &EventToSend,
    claim: Uuid,
    result: Option<&AttemptResult>,
    outcome: AttemptOutcome,
) -> Result<bool, StoreError> {
    let (webhook, lane) = (event.webhook.as_uuid(), &event.lane);
    let mut tx = store.begin().await?;
    let locked = sqlx::query_file!("queries/webhook_lanes/lock.sql", webhook, lane, claim);
    let is_claimed = locked.fetch_optional(tx.connection()).await?.is_some();
    if let Some(result) = result {
        insert_attempt(&mut tx, event, result).await?;
    }
    // What the receiver has accepted is delivered, whoever claims the lane now.
    if is_claimed || outcome == AttemptOutcome::Delivered {
        let state = match outcome {
            AttemptOutcome::Delivered => Some(DeliveryState::Delivered),
            AttemptOutcome::Missed => Some(DeliveryState::Missed),
            AttemptOutcome::Retry { .. } => None,
        };
        if let Some(state) = state {
            sqlx::query_file!("queries/webhook_events/finish.sql", event.number, state.as_str())
                .execute(tx.connection())
                .await?;
        }
    }
    if is_claimed {
        give_back(&mut tx, &Lane { webhook: event.webhook, lane: lane.clone() }, outcome).await?;
    }
    tx.commit().await?;
    Ok(is_claimed)
}

async fn insert_attempt(tx: &mut Tx, event: &EventToSend, result: &AttemptResult) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/webhook_attempts/insert.sql",
        event.number,
        i32::try_from(event.attempt).unwrap_or(i32::MAX),
        result.status.map(i32::from),
        i64::try_from(result.duration.as_millis()).unwrap_or(i64::MAX),
        result.error
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

async fn give_back(tx: &mut Tx, lane: &Lane, outcome: AttemptOutcome) -> Result<(), StoreError> {
    let (webhook, name) = (lane.webhook.as_uuid(), &lane.lane);
    let given_back = match outcome {
        AttemptOutcome::Retry { after } => {
            sqlx::query_file!("queries/webhook_lanes/release.sql", webhook, name, after.as_secs_f64())
                .execute(tx.connection())
                .await
        }
        AttemptOutcome::Delivered | AttemptOutcome::Missed => {
            sqlx::query_file!("queries/webhook_lanes/advance.sql", webhook, name)
                .execute(tx.connection())
                .await
        }
    };
    given_back?;
    Ok(())
}

/// Closes claimed lanes that have no event to send.
pub async fn close(store: &Store, lanes: &[Lane], claim: Uuid) -> Result<(), StoreError> {
    for lane in lanes {
        let mut tx = store.begin().await?;
        let webhook = lane.webhook.as_uuid();
        let locked = sqlx::query_file!("queries/webhook_lanes/lock.sql", webhook, lane.lane, claim);
        if locked.fetch_optional(tx.connection()).await?.is_some() {
            give_back(&mut tx, lane, AttemptOutcome::Missed).await?;
        }
        tx.commit().await?;
    }
    Ok(())
}

/// What an inbox still has of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferencedMessage {
    pub content: MessageContent,
    /// Whether the inbox is that of the webhook's agent now.
    pub is_of_agent: bool,
}

/// Reads the message that an event is about; none if it has expired.
pub async fn find_message(
    store: &Store,
    webhook: WebhookId,
    message: SentMessageRef,
) -> Result<Option<ReferencedMessage>, StoreError> {
    let (inbox, seq) = (message.inbox.get(), message.seq.get());
    let row = sqlx::query_file!("queries/webhook_events/find_message.sql", inbox, seq, webhook.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| ReferencedMessage {
        content: row.payload.map_or(MessageContent::Recalled, MessageContent::Payload),
        is_of_agent: row.is_of_agent,
    }))
}
