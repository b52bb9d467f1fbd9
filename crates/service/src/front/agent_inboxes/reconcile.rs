//! Reads the inboxes of agents, and sends their answers. Any replica does it: each inbox and each answer is claimed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::CommandId;
use guildhall_runtime::reconcile::{Reconciler, Signal};
use guildhall_runtime::{Clock, Tasks};
use guildhall_store::agent_inboxes::{self, ClaimedInbox};
use guildhall_store::{StoreError, agent_answers};
use jiff::SignedDuration;
use metrics::counter;
use tokio::sync::Semaphore;
use tracing::warn;

use super::instance;
use crate::ServiceError;
use crate::deps::Deps;
use crate::front::agent_runs::AgentRuns;
use crate::identity;
use crate::messages;

/// Inboxes, and answers, that one round claims.
const BATCH: u32 = 50;

/// Inboxes that are read at a time, and answers that are sent at a time.
const CONCURRENCY: usize = 8;

/// How long a claim lasts. A replica that dies in between is replaced after it.
pub(super) const CLAIM_TIME: Duration = Duration::from_secs(60);

/// How often the list of agents is read, for announcements.
const LIST_INTERVAL: Duration = Duration::from_secs(60);

/// Agents whose messages are announced. Those of further ones are found by the interval of rounds.
const MAX_WATCHED: u32 = 100_000;

/// The pause of an inbox that cannot be read now.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Turns whose progress this replica reports at a time. Answers do not depend on it.
const MAX_FOLLOWED: usize = 256;

/// Answers of turns that have never ended are deleted.
const ANSWER_LIFETIME: SignedDuration = SignedDuration::from_hours(60 * 24);

/// Starts the work that messages ask for, and sends the answers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AnswerMessages {
    pub(super) deps: Deps,
    pub(super) messages: messages::Group,
    pub(super) identity: identity::Group,
    pub(super) agent_runs: AgentRuns,
    pub(super) clock: Clock,
    pub(super) tasks: Tasks,
    pub(super) followed: Arc<Semaphore>,
    rounds: Arc<Rounds>,
}

#[derive(Debug, Default)]
struct Rounds {
    /// When all inboxes were looked at, and when the list of agents was read.
    full_at: Mutex<Option<Instant>>,
    listed_at: Mutex<Option<Instant>>,
    /// Turns that a follower has seen ending.
    ended: Mutex<BTreeSet<CommandId>>,
    signal: std::sync::OnceLock<Signal>,
}

impl AnswerMessages {
    /// How often all inboxes and answers are looked at.
    pub const INTERVAL: Duration = Duration::from_secs(5);

    pub(in crate::front) fn new(
        deps: Deps,
        messages: messages::Group,
        identity: identity::Group,
        agent_runs: AgentRuns,
        tasks: Tasks,
    ) -> Self {
        let clock = deps.clock.clone();
        let followed = Arc::new(Semaphore::new(MAX_FOLLOWED));
        Self { deps, messages, identity, agent_runs, clock, tasks, followed, rounds: Arc::default() }
    }

    /// Sets what starts a round before its time.
    pub fn notify(&self, signal: Signal) {
        self.messages.growth.notify(signal.clone());
        let _set_once = self.rounds.signal.set(signal);
    }

    /// Notes that a turn has ended: its answer is sent at once.
    pub(super) fn has_ended(&self, turn: CommandId) {
        lock(&self.rounds.ended).insert(turn);
        if let Some(signal) = self.rounds.signal.get() {
            signal.notify();
        }
    }

    async fn read_inboxes(&self, is_full: bool) -> Result<(), StoreError> {
        let grown = self.messages.growth.take_grown();
        if grown.is_empty() && !is_full {
            return Ok(());
        }
        let only = (!is_full).then_some(grown.as_slice());
        let claimed = agent_inboxes::claim(&self.deps.store, only, &instance(), BATCH, CLAIM_TIME).await?;
        let is_cut = claimed.len() >= BATCH as usize;
        let reading = claimed.into_iter().map(|inbox| self.read_claimed(inbox));
        futures::stream::iter(reading).buffer_unordered(CONCURRENCY).collect::<Vec<()>>().await;
        if is_cut && let Some(signal) = self.rounds.signal.get() {
            *lock(&self.rounds.full_at) = None;
            signal.notify();
        }
        Ok(())
    }

    async fn read_claimed(&self, claimed: ClaimedInbox) {
        let pause = match self.read_inbox(&claimed).await {
            Ok(()) => Duration::ZERO,
            Err(error) => {
                warn_of(&claimed.agent.aid, &error, "cannot read the inbox of an agent; trying again");
                RETRY_PAUSE
            }
        };
        if let Err(error) = agent_inboxes::release(&self.deps.store, claimed.agent.agent, pause).await {
            warn_of(&claimed.agent.aid, &error, "cannot release the inbox of an agent");
        }
    }

    async fn send_answers(&self, is_full: bool) -> Result<(), StoreError> {
        let ended: Vec<CommandId> = std::mem::take(&mut *lock(&self.rounds.ended)).into_iter().collect();
        if ended.is_empty() && !is_full {
            return Ok(());
        }
        let only = (!is_full).then_some(ended.as_slice());
        let due = agent_answers::claim(&self.deps.store, only, BATCH, CLAIM_TIME).await?;
        let is_cut = due.len() >= BATCH as usize;
        let sending = due.into_iter().map(|answer| async move {
            let outcome = self.settle_answer(&answer).await;
            counter!("guildhall_agent_answers_total", "outcome" => outcome).increment(1);
        });
        futures::stream::iter(sending).buffer_unordered(CONCURRENCY).collect::<Vec<()>>().await;
        if is_cut && let Some(signal) = self.rounds.signal.get() {
            *lock(&self.rounds.full_at) = None;
            signal.notify();
        }
        Ok(())
    }

    async fn list_agents(&self) -> Result<(), StoreError> {
        if !is_due(&self.rounds.listed_at, LIST_INTERVAL) {
            return Ok(());
        }
        self.messages.growth.watch(agent_inboxes::list_ids(&self.deps.store, MAX_WATCHED).await?);
        agent_answers::delete_old(&self.deps.store, self.clock.now() - ANSWER_LIFETIME).await?;
        self.renew_certificates().await
    }
}

impl Reconciler for AnswerMessages {
    type Error = StoreError;
    const NAME: &'static str = "agent-answers";

    async fn round(&self) -> Result<(), StoreError> {
        if self.identity.aids().is_err() {
            // Without an issuer there are no AIDs.
            return Ok(());
        }
        self.list_agents().await?;
        let is_full = is_due(&self.rounds.full_at, Self::INTERVAL);
        self.read_inboxes(is_full).await?;
        self.send_answers(is_full).await
    }
}

/// Returns whether the interval is over since the last time, and begins the next one.
fn is_due(last: &Mutex<Option<Instant>>, interval: Duration) -> bool {
    let mut last = lock(last);
    let is_due = last.is_none_or(|last| last.elapsed() >= interval);
    if is_due {
        *last = Some(Instant::now());
    }
    is_due
}

/// Returns whether the same request may succeed in a moment.
pub(super) fn is_transient(error: &ServiceError) -> bool {
    matches!(error.failure().kind, FailureKind::InfraFailed | FailureKind::Overloaded | FailureKind::Internal)
}

pub(super) fn warn_of(
    aid: &impl fmt::Display,
    error: &(dyn std::error::Error + 'static),
    message: &'static str,
) {
    warn!(%aid, error, "{message}");
}

/// No code that holds a lock can panic in the middle of a change.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
