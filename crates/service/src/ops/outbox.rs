//! The outbox: external side effects, performed after the transaction that enqueued them is committed.
//!
//! Delivery is at least once. Handlers must be idempotent by the effect's id: a worker can be killed after the effect
//! and before it is marked as done.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use guildhall_domain::ids::{EffectId, TenantId};
use guildhall_domain::ops::outbox::{FailureClass, MAX_ATTEMPTS, RetryDecision};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::outbox::{self, ClaimRequest, ClaimedEffect};
use guildhall_store::{Store, StoreError, Tx};
use metrics::{counter, gauge};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};
use uuid::Uuid;

/// How often the outbox is polled.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Effects claimed at once.
const BATCH_SIZE: usize = 20;

/// Effects performed at once. Slow ones take their part of it until they are done or have timed out.
const MAX_IN_FLIGHT: usize = 100;

/// Effects of one tenant that are performed at once: the targets of a tenant may all be slow.
pub const MAX_IN_FLIGHT_OF_TENANT: u32 = 10;

/// A round waits this long for what it has claimed. The next round goes on with the rest: a slow effect delays neither
/// the others nor the end of the round, by which readiness judges this worker.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// A round claims no more effects after this time, so that it ends before the reconciler's timeout.
const MAX_CLAIM_TIME: Duration = Duration::from_secs(20);

/// The highest count of dead effects; above it the exact number does not matter.
const MAX_COUNTED_DEAD: u32 = 10_000;

/// The stored length of an error message.
const MAX_ERROR_CHARS: usize = 500;

/// Enqueues an effect in the transaction that requires it. The body must hold no secret.
/// Effects of a tenant wait for each other if too many of them are performed at once.
pub async fn enqueue(
    tx: &mut Tx,
    kind: &'static str,
    tenant: Option<TenantId>,
    body: &Value,
) -> Result<EffectId, StoreError> {
    let id = EffectId::generate();
    outbox::enqueue(tx, id, kind, tenant, &body.to_string()).await?;
    Ok(id)
}

/// One attempt to perform an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectAttempt {
    /// The same at each attempt: the idempotency key for the external system.
    pub id: EffectId,
    /// JSON, as it was enqueued.
    pub body: String,
    /// Counted from 1.
    pub attempt: u32,
}

/// Why an attempt failed. The message is stored and shown to operators: it must hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EffectError {
    pub class: FailureClass,
    pub message: String,
    /// How long the target wants no other attempt.
    pub pause: Option<Duration>,
}

/// Performs the effects of one kind.
pub trait Handler: fmt::Debug + Send + Sync {
    /// The kind stored with each effect. Its meaning must never change.
    fn kind(&self) -> &'static str;

    /// Performs an effect. It may have been performed before, wholly or in part.
    fn perform<'a>(&'a self, effect: &'a EffectAttempt) -> BoxFuture<'a, Result<(), EffectError>>;
}

/// Timeouts of the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxTimeouts {
    /// An attempt that takes longer has failed.
    pub attempt: Duration,
    /// A claimed effect is claimed again after this time. Longer than an attempt, so that no two run at once.
    pub visibility_timeout: Duration,
}

impl OutboxTimeouts {
    pub const DEFAULT: Self =
        Self { attempt: Duration::from_secs(30), visibility_timeout: Duration::from_secs(60) };
}

/// The claimed effects that are being performed, each as a task: none holds a database connection while it waits for the
/// next round. They end with the worker.
#[derive(Debug, Default)]
struct RunningEffects {
    tasks: JoinSet<(Option<TenantId>, Result<(), StoreError>)>,
    by_tenant: BTreeMap<TenantId, u32>,
}

impl RunningEffects {
    fn spawn(&mut self, performer: Arc<Performer>, claim: Uuid, effect: ClaimedEffect) {
        let tenant = effect.tenant;
        if let Some(tenant) = tenant {
            *self.by_tenant.entry(tenant).or_default() += 1;
        }
        self.tasks.spawn(async move { (tenant, performer.perform(claim, effect).await) });
    }

    /// Waits for the next effect that is done; none if all are.
    async fn join_next(&mut self) -> Option<Result<(), StoreError>> {
        let (tenant, outcome) = match self.tasks.join_next().await? {
            Ok(done) => done,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_cancelled) => (None, Ok(())),
        };
        if let Some(tenant) = tenant
            && let Entry::Occupied(mut count) = self.by_tenant.entry(tenant)
        {
            *count.get_mut() = count.get().saturating_sub(1);
            if *count.get() == 0 {
                count.remove();
            }
        }
        Some(outcome)
    }
}

/// An outbox worker. Any number may run, on any number of replicas.
#[derive(Debug)]
pub struct Outbox {
    store: Store,
    performers: Vec<Arc<Performer>>,
    visibility_timeout: Duration,
    in_flight: Mutex<RunningEffects>,
    stop: CancellationToken,
}

impl Outbox {
    /// Creates a worker for the kinds that have a handler; `None` without handlers. Effects of other kinds are not
    /// touched: a newer replica may know them.
    #[must_use]
    pub fn new(
        store: Store,
        handlers: Vec<Arc<dyn Handler>>,
        timeouts: OutboxTimeouts,
        stop: CancellationToken,
    ) -> Option<Self> {
        if handlers.is_empty() {
            return None;
        }
        let OutboxTimeouts { attempt, visibility_timeout } = timeouts;
        let performer =
            |handler| Arc::new(Performer { store: store.clone(), handler, attempt_timeout: attempt });
        let performers = handlers.into_iter().map(performer).collect();
        Some(Self { store, performers, visibility_timeout, in_flight: Mutex::default(), stop })
    }

    /// Claims one batch and starts to perform it. Returns whether there may be more.
    async fn start_batch(
        &self,
        performer: &Arc<Performer>,
        in_flight: &mut RunningEffects,
    ) -> Result<bool, StoreError> {
        let limit = BATCH_SIZE.min(MAX_IN_FLIGHT.saturating_sub(in_flight.tasks.len()));
        if limit == 0 {
            return Ok(false);
        }
        let claim = Uuid::now_v7();
        let request = ClaimRequest {
            kind: performer.handler.kind(),
            claim,
            max_attempts: MAX_ATTEMPTS,
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            tenant_limit: MAX_IN_FLIGHT_OF_TENANT,
            performed: &in_flight.by_tenant,
            visibility_timeout: self.visibility_timeout,
        };
        let claimed = outbox::claim(&self.store, &request).await?;
        for effect in claimed.effects {
            in_flight.spawn(Arc::clone(performer), claim, effect);
        }
        Ok(usize::try_from(claimed.due) == Ok(limit))
    }

    /// Waits until the claimed effects are performed, but not for slow ones.
    async fn settle(&self, in_flight: &mut RunningEffects) -> Result<(), StoreError> {
        let finish = async {
            while let Some(outcome) = in_flight.join_next().await {
                outcome?;
            }
            Ok(())
        };
        tokio::select! {
            outcome = finish => outcome,
            () = tokio::time::sleep(SETTLE_TIME) => Ok(()),
            // What is not done yet is performed again by another replica, when its claim expires.
            () = self.stop.cancelled() => Ok(()),
        }
    }

    /// Marks effects as dead whose last worker died during the last attempt.
    async fn mark_exhausted(&self, kind: &'static str) -> Result<(), StoreError> {
        let exhausted = outbox::mark_exhausted(&self.store, kind, MAX_ATTEMPTS).await?;
        if exhausted > 0 {
            error!(
                kind,
                exhausted, "giving up on {exhausted} effects whose worker died during the last attempt"
            );
            counter!("guildhall_outbox_attempts_total", "kind" => kind, "outcome" => "dead")
                .increment(exhausted);
        }
        Ok(())
    }
}

/// Performs the effects of one kind, and stores the outcomes.
#[derive(Debug)]
struct Performer {
    store: Store,
    handler: Arc<dyn Handler>,
    attempt_timeout: Duration,
}

impl Performer {
    async fn perform(&self, claim: Uuid, claimed: ClaimedEffect) -> Result<(), StoreError> {
        let ClaimedEffect { id, tenant: _, body, attempts } = claimed;
        let effect = EffectAttempt { id, body, attempt: attempts };
        let attempt = timeout(self.attempt_timeout, self.handler.perform(&effect)).await;
        let outcome = attempt.unwrap_or_else(|_| Err(self.timeout_error()));
        let kind = self.handler.kind();
        let (outcome, still_claimed) = match outcome {
            Ok(()) => ("done", outbox::complete(&self.store, id, claim).await?),
            Err(error) => self.record_failure(kind, claim, &effect, &error).await?,
        };
        let outcome = if still_claimed { outcome } else { "overtaken" };
        counter!("guildhall_outbox_attempts_total", "kind" => kind, "outcome" => outcome).increment(1);
        Ok(())
    }

    async fn record_failure(
        &self,
        kind: &'static str,
        claim: Uuid,
        effect: &EffectAttempt,
        error: &EffectError,
    ) -> Result<(&'static str, bool), StoreError> {
        let (id, attempt) = (effect.id, effect.attempt);
        let message: String = error.message.chars().take(MAX_ERROR_CHARS).collect();
        match RetryDecision::decide(id, attempt, error.class).not_before(error.pause) {
            RetryDecision::Retry { after } => {
                warn!(effect.id = %id, kind, attempt, error = error as &dyn Error, "cannot perform {id}, retrying in {after:?}");
                Ok(("retried", outbox::retry(&self.store, id, claim, &message, after).await?))
            }
            RetryDecision::GiveUp => {
                error!(effect.id = %id, kind, attempt, error = error as &dyn Error, "giving up on {id} after {attempt} attempts");
                Ok(("dead", outbox::mark_dead(&self.store, id, claim, &message).await?))
            }
        }
    }

    fn timeout_error(&self) -> EffectError {
        EffectError {
            class: FailureClass::Transient,
            message: format!("took longer than {:?}", self.attempt_timeout),
            pause: None,
        }
    }
}

impl Reconciler for Outbox {
    type Error = StoreError;
    const NAME: &'static str = "outbox";

    async fn round(&self) -> Result<(), StoreError> {
        let started_at = Instant::now();
        for performer in &self.performers {
            self.mark_exhausted(performer.handler.kind()).await?;
        }
        let mut in_flight = self.in_flight.lock().await;
        // One batch of each kind in turn: a long backlog of one kind does not delay the others.
        let mut busy: Vec<&Arc<Performer>> = self.performers.iter().collect();
        while !busy.is_empty() {
            let mut still_busy = Vec::new();
            for performer in busy {
                if self.stop.is_cancelled() || started_at.elapsed() > MAX_CLAIM_TIME {
                    return Ok(());
                }
                if self.start_batch(performer, &mut in_flight).await? {
                    still_busy.push(performer);
                }
            }
            self.settle(&mut in_flight).await?;
            busy = still_busy;
        }
        let dead = outbox::count_dead(&self.store, MAX_COUNTED_DEAD).await?;
        gauge!("guildhall_outbox_dead").set(dead as f64);
        Ok(())
    }
}
