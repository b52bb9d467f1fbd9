//! Sends the events of webhooks: the reconciler of the queue.
//!
//! Delivery is at least once: a replica can be killed after the receiver has accepted an event and before that is stored.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use guildhall_domain::ids::TenantId;
use guildhall_domain::webhooks::agent_message::{Envelope, with_envelope};
use guildhall_domain::webhooks::delivery::ReceiverAnswer;
use guildhall_domain::webhooks::schedule::{MAX_ATTEMPTS, NextAttempt, is_dead};
use guildhall_domain::webhooks::{DisableReason, Webhook};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::webhook_events::{
    self as rows, AttemptOutcome, AttemptResult, ClaimLimits, EventToSend, Lane,
};
use guildhall_store::webhooks::{self, NewFailure};
use guildhall_store::{Store, StoreError};
use metrics::counter;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::disable::disable;
use super::sender::{Sender, Sent};
use crate::ServiceError;

/// Lanes claimed at once.
const BATCH_SIZE: usize = 20;

/// Requests of this replica at once. Slow receivers take their part of it until they answer or time out.
const MAX_IN_FLIGHT: usize = 100;

/// Requests for one tenant at once: all receivers of a tenant may be slow.
const MAX_IN_FLIGHT_OF_TENANT: u32 = 10;

/// A claimed lane is claimed again after this time. Longer than an attempt, so that no two run at once.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(60);

/// A round waits this long for what it has claimed. The next round goes on with the rest.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// A round claims nothing more after this time, so that it ends before the reconciler's timeout.
const MAX_CLAIM_TIME: Duration = Duration::from_secs(20);

/// The attempts that are being made, each as a task. They end with the worker.
#[derive(Debug, Default)]
struct RunningAttempts {
    tasks: JoinSet<(TenantId, Result<(), ServiceError>)>,
    by_tenant: BTreeMap<TenantId, u32>,
}

impl RunningAttempts {
    fn spawn(&mut self, worker: Arc<Worker>, claim: Uuid, event: EventToSend) {
        let tenant = event.tenant;
        *self.by_tenant.entry(tenant).or_default() += 1;
        self.tasks.spawn(async move { (tenant, worker.attempt(claim, &event).await) });
    }

    /// Waits for the next attempt that is done; none if all are.
    async fn join_next(&mut self) -> Option<Result<(), ServiceError>> {
        let (tenant, outcome) = match self.tasks.join_next().await? {
            Ok(done) => done,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_cancelled) => return Some(Ok(())),
        };
        if let Entry::Occupied(mut count) = self.by_tenant.entry(tenant) {
            *count.get_mut() = count.get().saturating_sub(1);
            if *count.get() == 0 {
                count.remove();
            }
        }
        Some(outcome)
    }
}

/// Sends the events of webhooks. Any number of workers may run, on any number of replicas.
#[derive(Debug)]
pub struct SendEvents {
    worker: Arc<Worker>,
    in_flight: Mutex<RunningAttempts>,
    stop: CancellationToken,
}

#[derive(Debug)]
struct Worker {
    store: Store,
    sender: Sender,
}

impl SendEvents {
    /// How often the queue is polled.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    #[must_use]
    pub fn new(store: Store, sender: Sender, stop: CancellationToken) -> Self {
        Self { worker: Arc::new(Worker { store, sender }), in_flight: Mutex::default(), stop }
    }

    /// Claims lanes and starts to send their first events. Returns whether there may be more.
    async fn start_batch(&self, in_flight: &mut RunningAttempts) -> Result<bool, ServiceError> {
        let limit = BATCH_SIZE.min(MAX_IN_FLIGHT.saturating_sub(in_flight.tasks.len()));
        if limit == 0 {
            return Ok(false);
        }
        let claim = Uuid::now_v7();
        let limits = ClaimLimits {
            lanes: u32::try_from(limit).unwrap_or(u32::MAX),
            of_tenant: MAX_IN_FLIGHT_OF_TENANT,
            served: &in_flight.by_tenant,
            visibility_timeout: VISIBILITY_TIMEOUT,
        };
        let store = &self.worker.store;
        let claimed = rows::claim(store, claim, &limits).await?;
        if claimed.lanes.is_empty() {
            return Ok(false);
        }
        for event in begin(store, claimed.lanes, claim).await? {
            in_flight.spawn(Arc::clone(&self.worker), claim, event);
        }
        Ok(true)
    }

    /// Waits until some of the claimed events are sent, so that the next ones of their lanes can follow, but not for slow
    /// receivers.
    async fn settle(&self, in_flight: &mut RunningAttempts) -> Result<(), ServiceError> {
        let some = async {
            in_flight.join_next().await.unwrap_or(Ok(()))?;
            while let Some(Some(outcome)) = in_flight.join_next().now_or_never() {
                outcome?;
            }
            Ok(())
        };
        tokio::select! {
            outcome = some => outcome,
            () = tokio::time::sleep(SETTLE_TIME) => Ok(()),
            // What is not done yet is sent again by another replica, when its claim expires.
            () = self.stop.cancelled() => Ok(()),
        }
    }
}

/// Begins an attempt with the first event of each claimed lane, and closes lanes without one.
pub(super) async fn begin(
    store: &Store,
    lanes: Vec<Lane>,
    claim: Uuid,
) -> Result<Vec<EventToSend>, StoreError> {
    let events = rows::begin_attempts(store, &lanes).await?;
    let has_event =
        |lane: &Lane| events.iter().any(|event| event.webhook == lane.webhook && event.lane == lane.lane);
    let empty: Vec<Lane> = lanes.into_iter().filter(|lane| !has_event(lane)).collect();
    rows::close(store, &empty, claim).await?;
    Ok(events)
}

/// Returns the body of the request, with the envelope of a message as its inbox holds it now.
pub(super) async fn body(store: &Store, event: &EventToSend) -> Result<String, StoreError> {
    let Some(message) = event.message else { return Ok(event.body.clone()) };
    let found = rows::find_message(store, event.webhook, message).await?;
    let envelope = match &found {
        None => Envelope::Expired,
        Some(stored) if !stored.is_of_agent => Envelope::Withdrawn,
        Some(stored) => Envelope::Stored(&stored.content),
    };
    Ok(with_envelope(&event.body, envelope))
}

impl Worker {
    async fn attempt(&self, claim: Uuid, event: &EventToSend) -> Result<(), ServiceError> {
        let found = webhooks::find(&self.store, event.tenant, event.webhook).await?;
        // It may have been deleted or disabled since the event was enqueued, or every worker dies of this event.
        let enabled = found.filter(|webhook| webhook.is_enabled() && event.attempt <= MAX_ATTEMPTS);
        let Some(webhook) = enabled else {
            rows::finish(&self.store, event, claim, None, AttemptOutcome::Missed).await?;
            return Ok(());
        };
        let body = body(&self.store, event).await?;
        let Some(sent) = self.sender.send(&webhook, event.event, &body).await? else { return Ok(()) };
        record(&self.store, claim, &webhook, event, &sent).await
    }
}

/// Stores what became of an attempt, where members see it, and decides what follows.
pub(super) async fn record(
    store: &Store,
    claim: Uuid,
    webhook: &Webhook,
    event: &EventToSend,
    sent: &Sent,
) -> Result<(), ServiceError> {
    let Sent { answer, result, pause } = sent;
    let (outcome, label) = match answer {
        ReceiverAnswer::Accepted => (AttemptOutcome::Delivered, "delivered"),
        ReceiverAnswer::Gone => (AttemptOutcome::Missed, "gone"),
        ReceiverAnswer::Failed => match NextAttempt::decide(event.event, event.attempt, *pause) {
            NextAttempt::After(after) => (AttemptOutcome::Retry { after }, "retried"),
            NextAttempt::GiveUp => (AttemptOutcome::Missed, "missed"),
        },
    };
    let reason = match answer {
        ReceiverAnswer::Accepted => {
            webhooks::set_success(store, webhook.tenant, webhook.id).await?;
            None
        }
        ReceiverAnswer::Gone => Some(DisableReason::Gone),
        ReceiverAnswer::Failed => set_failure(store, webhook, event, result, outcome).await?,
    };
    let is_claimed = rows::finish(store, event, claim, Some(result), outcome).await?;
    let label = if is_claimed { label } else { "overtaken" };
    counter!("guildhall_webhook_attempts_total", "outcome" => label).increment(1);
    match reason {
        Some(reason) => disable(store, webhook, reason).await,
        None => Ok(()),
    }
}

/// Returns why the webhook has to be disabled after this failure.
async fn set_failure(
    store: &Store,
    webhook: &Webhook,
    event: &EventToSend,
    result: &AttemptResult,
    outcome: AttemptOutcome,
) -> Result<Option<DisableReason>, ServiceError> {
    let failure = NewFailure {
        event: event.event,
        attempt: event.attempt,
        message: result.error.as_deref().unwrap_or_default(),
        is_final: outcome == AttemptOutcome::Missed,
    };
    let failing = webhooks::set_failure(store, webhook.tenant, webhook.id, &failure).await?;
    Ok(failing.filter(|failing| is_dead(failing.since, failing.now)).map(|_| DisableReason::Failing))
}

impl Reconciler for SendEvents {
    type Error = ServiceError;
    const NAME: &'static str = "webhooks";

    async fn round(&self) -> Result<(), ServiceError> {
        let started_at = Instant::now();
        let mut in_flight = self.in_flight.lock().await;
        loop {
            if self.stop.is_cancelled() || started_at.elapsed() > MAX_CLAIM_TIME {
                return Ok(());
            }
            let may_be_more = self.start_batch(&mut in_flight).await?;
            if !may_be_more && in_flight.tasks.is_empty() {
                return Ok(());
            }
            let waited = Instant::now();
            self.settle(&mut in_flight).await?;
            if !may_be_more && waited.elapsed() >= SETTLE_TIME {
                return Ok(());
            }
        }
    }
}
