//! Reconcilers: idempotent work without input that runs on a signal and on a timer.
//!
//! A reconciler reads the current state and moves it towards the desired state. A lost signal costs latency, not
//! correctness, because of the timer. The last result and the next run are always visible.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use metrics::{counter, gauge, histogram};
use tokio::sync::Notify;
use tokio::time::timeout;
use tracing::{debug, warn};

use crate::{Clock, Tasks};

/// A periodic, idempotent task.
pub trait Reconciler: Send + Sync + 'static {
    type Error: Error + Send + Sync + 'static;

    /// The name that operators see in readiness and metrics.
    const NAME: &'static str;

    /// Timeout of one round; the next round is a retry. A connection to PostgreSQL can be silent for this long.
    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Runs one round. Must be idempotent, and safe to run concurrently on several replicas.
    fn round(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// The status of a reconciler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcilerStatus {
    pub name: &'static str,
    pub every: Duration,
    pub last_run_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub next_run_at: Timestamp,
    pub last_error: Option<String>,
}

/// Triggers a reconciler. Signals during a round cause one more round.
#[derive(Debug, Clone, Default)]
pub struct Signal(Arc<Notify>);

impl Signal {
    pub fn notify(&self) {
        self.0.notify_one();
    }
}

/// The reconcilers of one server.
#[derive(Debug, Clone)]
pub struct Reconcilers {
    clock: Clock,
    statuses: Arc<Mutex<Vec<ReconcilerStatus>>>,
}

impl Reconcilers {
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, statuses: Arc::default() }
    }

    /// Starts a reconciler: immediately, then at every interval, and on every signal.
    pub fn start<R: Reconciler>(&self, tasks: &Tasks, every: Duration, reconciler: R) -> Signal {
        let signal = Signal::default();
        let slot = self.register(R::NAME, every);
        let (this, stop, notified) = (self.clone(), tasks.stop(), signal.clone());
        tasks.spawn(R::NAME, async move {
            loop {
                this.run_once(slot, every, &reconciler).await;
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = notified.0.notified() => {}
                    () = tokio::time::sleep(every) => {}
                }
            }
        });
        signal
    }

    /// Returns the status of each reconciler, in start order.
    #[must_use]
    pub fn statuses(&self) -> Vec<ReconcilerStatus> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn register(&self, name: &'static str, every: Duration) -> usize {
        let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        statuses.push(ReconcilerStatus {
            name,
            every,
            last_run_at: None,
            last_success_at: None,
            next_run_at: self.clock.now(),
            last_error: None,
        });
        statuses.len() - 1
    }

    async fn run_once<R: Reconciler>(&self, slot: usize, every: Duration, reconciler: &R) {
        let began = Instant::now();
        let error = match timeout(R::TIMEOUT, reconciler.round()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => {
                warn!(reconciler = R::NAME, error = &error as &dyn Error, "reconciler {} failed", R::NAME);
                Some(error.to_string())
            }
            Err(_) => {
                warn!(reconciler = R::NAME, "reconciler {} took longer than {:?}", R::NAME, R::TIMEOUT);
                Some(format!("took longer than {} s", R::TIMEOUT.as_secs()))
            }
        };
        debug!(reconciler = R::NAME, ok = error.is_none(), "reconciler {} ran", R::NAME);
        self.record(slot, every, error, began.elapsed());
    }

    fn record(&self, slot: usize, every: Duration, error: Option<String>, took: Duration) {
        let now = self.clock.now();
        let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(status) = statuses.get_mut(slot) else { return };
        let outcome = if error.is_none() { "ok" } else { "error" };
        counter!("guildhall_reconcile_rounds_total", "name" => status.name, "outcome" => outcome)
            .increment(1);
        histogram!("guildhall_reconcile_seconds", "name" => status.name).record(took.as_secs_f64());
        if error.is_none() {
            status.last_success_at = Some(now);
            gauge!("guildhall_reconcile_last_success_timestamp_seconds", "name" => status.name)
                .set(now.as_duration().as_secs_f64());
        }
        status.last_run_at = Some(now);
        status.next_run_at = now.checked_add(every).unwrap_or(Timestamp::MAX);
        status.last_error = error;
        gauge!("guildhall_reconcile_next_run_timestamp_seconds", "name" => status.name)
            .set(status.next_run_at.as_duration().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("round failed")]
    struct RoundFailed;

    struct TestReconciler {
        rounds: Arc<AtomicUsize>,
        fails_at: usize,
    }

    impl Reconciler for TestReconciler {
        type Error = RoundFailed;
        const NAME: &'static str = "test";

        async fn round(&self) -> Result<(), RoundFailed> {
            let round = self.rounds.fetch_add(1, Ordering::SeqCst) + 1;
            if round == self.fails_at { Err(RoundFailed) } else { Ok(()) }
        }
    }

    async fn wait_for(rounds: &AtomicUsize, expected: usize) {
        for _ in 0..500 {
            if rounds.load(Ordering::SeqCst) >= expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("waited 5 s for round {expected}");
    }

    #[tokio::test]
    async fn runs_immediately_and_on_signal() {
        let (tasks, rounds) = (Tasks::new(), Arc::new(AtomicUsize::new(0)));
        let reconcilers = Reconcilers::new(Clock::system());
        let reconciler = TestReconciler { rounds: Arc::clone(&rounds), fails_at: usize::MAX };
        let signal = reconcilers.start(&tasks, Duration::from_secs(3600), reconciler);
        wait_for(&rounds, 1).await;
        signal.notify();
        wait_for(&rounds, 2).await;
        assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Vec::<&str>::new());
    }

    #[tokio::test]
    async fn runs_on_its_timer() {
        let (tasks, rounds) = (Tasks::new(), Arc::new(AtomicUsize::new(0)));
        let reconciler = TestReconciler { rounds: Arc::clone(&rounds), fails_at: usize::MAX };
        Reconcilers::new(Clock::system()).start(&tasks, Duration::from_millis(5), reconciler);
        wait_for(&rounds, 3).await;
    }

    #[tokio::test]
    async fn failed_round_keeps_the_last_success_and_stores_the_error() {
        let now = Timestamp::from_second(1_800_000_000).expect("in range");
        let (tasks, rounds, clock) = (Tasks::new(), Arc::new(AtomicUsize::new(0)), Clock::manual(now));
        let reconcilers = Reconcilers::new(clock);
        let every = Duration::from_secs(3600);
        let signal =
            reconcilers.start(&tasks, every, TestReconciler { rounds: Arc::clone(&rounds), fails_at: 2 });
        wait_for(&rounds, 1).await;
        signal.notify();
        wait_for(&rounds, 2).await;
        tasks.shutdown(Duration::from_secs(5)).await;
        let expected = ReconcilerStatus {
            name: "test",
            every,
            last_run_at: Some(now),
            last_success_at: Some(now),
            next_run_at: now.checked_add(every).expect("in range"),
            last_error: Some("round failed".to_owned()),
        };
        assert_eq!(reconcilers.statuses(), vec![expected]);
    }
}
