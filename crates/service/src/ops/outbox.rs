//! The outbox: effects on the world outside, done after the fact that asks for them is committed.
//!
//! An effect is done at least once. Whoever performs one makes it safe to repeat, by the effect's id: a worker that was
//! killed after the effect and before it said so leaves it to the next.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, join_all};
use guildhall_domain::ids::EffectId;
use guildhall_domain::ops::outbox::{ATTEMPTS_AT_MOST, Fault, Next};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::outbox::{self, Claim, Claimed};
use guildhall_store::{Store, StoreError, Tx};
use metrics::{counter, gauge};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};
use uuid::Uuid;

/// The outbox is looked through this often.
pub const EVERY: Duration = Duration::from_secs(1);

/// Effects taken and performed at once.
const BATCH: u32 = 20;

/// A round takes no more after this long, so that it ends before the frame of reconcilers cuts it off.
const CLAIM_FOR: Duration = Duration::from_secs(20);

/// Dead effects that are counted; beyond that it does not matter how many.
const DEAD_AT_MOST: u32 = 10_000;

/// Of an error this much is kept.
const ERROR_CHARS: usize = 500;

/// Writes down an effect, in the transaction of the fact that asks for it. The body holds no secret.
pub async fn enqueue(tx: &mut Tx, kind: &'static str, body: &Value) -> Result<EffectId, StoreError> {
    let id = EffectId::generate();
    outbox::enqueue(tx, id, kind, &body.to_string()).await?;
    Ok(id)
}

/// An effect to perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The same at each attempt: the key under which the other side recognises a repeat.
    pub id: EffectId,
    /// JSON, as it was enqueued.
    pub body: String,
    /// Counted from 1.
    pub attempt: u32,
}

/// Why an effect was not done. The words are kept and shown to operators: no secret stands in them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Undone {
    pub fault: Fault,
    pub words: String,
}

/// Performs effects of one kind.
pub trait Handler: fmt::Debug + Send + Sync {
    /// The kind that is stored with each effect. It is never given another meaning.
    fn kind(&self) -> &'static str;

    /// Performs an effect. It may have been performed before, wholly or in part.
    fn perform<'a>(&'a self, effect: &'a Effect) -> BoxFuture<'a, Result<(), Undone>>;
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// An attempt that takes longer has failed.
    pub attempt: Duration,
    /// A worker that is silent for so long is taken for dead: longer than an attempt, so that none is made twice at once.
    pub silence: Duration,
}

impl Pace {
    pub const USUAL: Self = Self { attempt: Duration::from_secs(30), silence: Duration::from_secs(60) };
}

/// A worker. Any number may run, on any number of replicas.
#[derive(Debug)]
pub struct Outbox {
    store: Store,
    handlers: Vec<Arc<dyn Handler>>,
    pace: Pace,
    stop: CancellationToken,
}

impl Outbox {
    /// Makes a worker for the kinds that have a handler; none without any. Effects of other kinds are left alone: a
    /// newer replica knows them.
    #[must_use]
    pub fn new(
        store: Store,
        handlers: Vec<Arc<dyn Handler>>,
        pace: Pace,
        stop: CancellationToken,
    ) -> Option<Self> {
        (!handlers.is_empty()).then_some(Self { store, handlers, pace, stop })
    }

    /// Takes and performs one batch. Returns whether there may be more.
    async fn batch(&self, handler: &dyn Handler) -> Result<bool, StoreError> {
        let claim = Uuid::now_v7();
        let taking = Claim {
            kind: handler.kind(),
            claim,
            attempts_at_most: ATTEMPTS_AT_MOST,
            limit: BATCH,
            visible_after: self.pace.silence,
        };
        let claimed = outbox::claim(&self.store, &taking).await?;
        let more = u32::try_from(claimed.len()).is_ok_and(|count| count == BATCH);
        let outcomes = join_all(claimed.into_iter().map(|effect| self.perform(handler, claim, effect))).await;
        outcomes.into_iter().collect::<Result<(), StoreError>>()?;
        Ok(more)
    }

    async fn perform(&self, handler: &dyn Handler, claim: Uuid, claimed: Claimed) -> Result<(), StoreError> {
        let Claimed { id, body, attempts } = claimed;
        let effect = Effect { id, body, attempt: attempts };
        let attempt = timeout(self.pace.attempt, handler.perform(&effect)).await;
        let outcome = attempt.unwrap_or_else(|_| Err(self.took_too_long()));
        let kind = handler.kind();
        let (what, still_ours) = match outcome {
            Ok(()) => ("done", outbox::done(&self.store, id, claim).await?),
            Err(undone) => self.put_back(kind, claim, &effect, &undone).await?,
        };
        let what = if still_ours { what } else { "overtaken" };
        counter!("guildhall_outbox_attempts_total", "kind" => kind, "outcome" => what).increment(1);
        Ok(())
    }

    async fn put_back(
        &self,
        kind: &'static str,
        claim: Uuid,
        effect: &Effect,
        undone: &Undone,
    ) -> Result<(&'static str, bool), StoreError> {
        let (id, attempt) = (effect.id, effect.attempt);
        let words: String = undone.words.chars().take(ERROR_CHARS).collect();
        match Next::decide(id, attempt, undone.fault) {
            Next::Retry { after } => {
                warn!(effect.id = %id, kind, attempt, error = undone as &dyn Error, "cannot do {id}, trying again in {after:?}");
                Ok(("retried", outbox::retry(&self.store, id, claim, &words, after).await?))
            }
            Next::GiveUp => {
                error!(effect.id = %id, kind, attempt, error = undone as &dyn Error, "gave up {id}");
                Ok(("dead", outbox::give_up(&self.store, id, claim, &words).await?))
            }
        }
    }

    fn took_too_long(&self) -> Undone {
        Undone { fault: Fault::Passing, words: format!("took longer than {:?}", self.pace.attempt) }
    }

    /// Gives up what no worker lives to give up.
    async fn bury(&self, kind: &'static str) -> Result<(), StoreError> {
        let buried = outbox::bury(&self.store, kind, ATTEMPTS_AT_MOST).await?;
        if buried > 0 {
            error!(kind, buried, "gave up {buried} effects whose last worker did not come back");
            counter!("guildhall_outbox_attempts_total", "kind" => kind, "outcome" => "dead")
                .increment(buried);
        }
        Ok(())
    }
}

impl Reconciler for Outbox {
    type Error = StoreError;
    const NAME: &'static str = "outbox";

    async fn round(&self) -> Result<(), StoreError> {
        let began = Instant::now();
        for handler in &self.handlers {
            self.bury(handler.kind()).await?;
        }
        // Batch by batch in turn: a kind with a long arrears does not keep the others waiting.
        let mut busy: Vec<&Arc<dyn Handler>> = self.handlers.iter().collect();
        while !busy.is_empty() {
            let mut still_busy = Vec::new();
            for handler in busy {
                if self.stop.is_cancelled() || began.elapsed() > CLAIM_FOR {
                    return Ok(());
                }
                if self.batch(handler.as_ref()).await? {
                    still_busy.push(handler);
                }
            }
            busy = still_busy;
        }
        let dead = outbox::count_dead(&self.store, DEAD_AT_MOST).await?;
        gauge!("guildhall_outbox_dead").set(dead as f64);
        Ok(())
    }
}
