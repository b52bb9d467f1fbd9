//! The outbox: external side effects, performed after the transaction that enqueued them is committed.
//!
//! Delivery is at least once. Handlers must be idempotent by the effect's id: a worker can be killed after the effect
//! and before it is marked as done.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, join_all};
use guildhall_domain::ids::EffectId;
use guildhall_domain::ops::outbox::{FailureClass, MAX_ATTEMPTS, RetryDecision};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::outbox::{self, ClaimRequest, ClaimedEffect};
use guildhall_store::{Store, StoreError, Tx};
use metrics::{counter, gauge};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};
use uuid::Uuid;

/// How often the outbox is polled.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Effects claimed and performed at once.
const BATCH_SIZE: u32 = 20;

/// A round claims no more effects after this time, so that it ends before the reconciler's timeout.
const MAX_CLAIM_TIME: Duration = Duration::from_secs(20);

/// The highest count of dead effects; above it the exact number does not matter.
const MAX_COUNTED_DEAD: u32 = 10_000;

/// The stored length of an error message.
const MAX_ERROR_CHARS: usize = 500;

/// Enqueues an effect in the transaction that requires it. The body must hold no secret.
pub async fn enqueue(tx: &mut Tx, kind: &'static str, body: &Value) -> Result<EffectId, StoreError> {
    let id = EffectId::generate();
    outbox::enqueue(tx, id, kind, &body.to_string()).await?;
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

/// An outbox worker. Any number may run, on any number of replicas.
#[derive(Debug)]
pub struct Outbox {
    store: Store,
    handlers: Vec<Arc<dyn Handler>>,
    timeouts: OutboxTimeouts,
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
        (!handlers.is_empty()).then_some(Self { store, handlers, timeouts, stop })
    }

    /// Claims and performs one batch. Returns whether there may be more.
    async fn run_batch(&self, handler: &dyn Handler) -> Result<bool, StoreError> {
        let claim = Uuid::now_v7();
        let request = ClaimRequest {
            kind: handler.kind(),
            claim,
            max_attempts: MAX_ATTEMPTS,
            limit: BATCH_SIZE,
            visibility_timeout: self.timeouts.visibility_timeout,
        };
        let claimed = outbox::claim(&self.store, &request).await?;
        let more = u32::try_from(claimed.len()).is_ok_and(|count| count == BATCH_SIZE);
        let outcomes = join_all(claimed.into_iter().map(|effect| self.perform(handler, claim, effect))).await;
        outcomes.into_iter().collect::<Result<(), StoreError>>()?;
        Ok(more)
    }

    async fn perform(
        &self,
        handler: &dyn Handler,
        claim: Uuid,
        claimed: ClaimedEffect,
    ) -> Result<(), StoreError> {
        let ClaimedEffect { id, body, attempts } = claimed;
        let effect = EffectAttempt { id, body, attempt: attempts };
        let attempt = timeout(self.timeouts.attempt, handler.perform(&effect)).await;
        let outcome = attempt.unwrap_or_else(|_| Err(self.timeout_error()));
        let kind = handler.kind();
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
        match RetryDecision::decide(id, attempt, error.class) {
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
            message: format!("took longer than {:?}", self.timeouts.attempt),
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

impl Reconciler for Outbox {
    type Error = StoreError;
    const NAME: &'static str = "outbox";

    async fn round(&self) -> Result<(), StoreError> {
        let started_at = Instant::now();
        for handler in &self.handlers {
            self.mark_exhausted(handler.kind()).await?;
        }
        // One batch of each kind in turn: a long backlog of one kind does not delay the others.
        let mut busy: Vec<&Arc<dyn Handler>> = self.handlers.iter().collect();
        while !busy.is_empty() {
            let mut still_busy = Vec::new();
            for handler in busy {
                if self.stop.is_cancelled() || started_at.elapsed() > MAX_CLAIM_TIME {
                    return Ok(());
                }
                if self.run_batch(handler.as_ref()).await? {
                    still_busy.push(handler);
                }
            }
            busy = still_busy;
        }
        let dead = outbox::count_dead(&self.store, MAX_COUNTED_DEAD).await?;
        gauge!("guildhall_outbox_dead").set(dead as f64);
        Ok(())
    }
}
