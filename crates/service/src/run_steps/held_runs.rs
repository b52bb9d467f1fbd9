//! The runs whose holders wait for commands on this replica. A commit on a run wakes its holder, over NATS also on other
//! replicas. One statement a second reads all of them and finds the wake-ups that were lost, so that an idle run costs
//! nothing by itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::{Epoch, Seq};
use guildhall_runtime::Tasks;
use guildhall_store::Store;
use guildhall_store::runs::{self, HeldRun};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::debug;
use uuid::Uuid;

/// One subject for all runs, so that a replica subscribes once.
const SUBJECT: &str = "runs.changed";

/// How often all held runs are read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How old what was read may be.
const MAX_AGE: Duration = Duration::from_secs(2);

/// A run that no holder has asked about for this long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(15);

/// Wake-ups queued for other replicas. More are dropped; their polls find the changes.
const MAX_QUEUED: usize = 4096;

/// What a holder has seen of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkCursor {
    pub(crate) epoch: Epoch,
    /// The ordinal of the last command.
    pub(crate) after: i32,
    pub(crate) cancel_seq: Seq,
}

impl WorkCursor {
    /// Returns whether the run has something that the holder has not seen.
    fn is_outdated_by(&self, run: &HeldRun) -> bool {
        run.is_ended
            || run.must_release
            || run.epoch != Some(self.epoch)
            || !run.is_authorized
            || run.commands > self.after
            || run.cancel_seq > self.cancel_seq
    }
}

/// The held runs of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HeldRuns {
    entries: Arc<Mutex<HashMap<RunId, HeldRunState>>>,
    changed: mpsc::Sender<RunId>,
    /// This replica, which has woken its own holders already.
    replica: Uuid,
}

#[derive(Debug)]
struct HeldRunState {
    /// Counts the changes.
    changes: watch::Sender<u64>,
    seen: WorkCursor,
    asked_at: Instant,
    changed_at: Option<Instant>,
    read: Option<(Instant, HeldRun)>,
}

/// Waits for changes of one run.
#[derive(Debug)]
pub(crate) struct HeldRunListener {
    run: RunId,
    runs: HeldRuns,
    changes: watch::Receiver<u64>,
}

impl HeldRuns {
    #[must_use]
    pub fn start(store: &Store, bus: &Bus, tasks: &Tasks) -> Self {
        let (changed, queued) = mpsc::channel(MAX_QUEUED);
        let replica = Uuid::now_v7();
        let runs = Self { entries: Arc::default(), changed, replica };
        let (receiver, stop) = (runs.clone(), tasks.stop());
        let (bus, store) = (bus.clone(), store.clone());
        tasks.spawn("held-runs", async move {
            tokio::select! {
                () = receiver.poll(&store) => {}
                () = receiver.receive(&bus) => {}
                () = send(&bus, queued, replica) => {}
                () = stop.cancelled() => {}
            }
        });
        runs
    }

    /// Wakes the holder of a run that was changed.
    pub(crate) fn announce(&self, run: RunId) {
        self.wake(run);
        let _found_by_the_poll = self.changed.try_send(run);
    }

    /// Watches a run for its holder. Read the run after this call, unless nothing has changed.
    pub(crate) fn watch(&self, run: RunId, seen: WorkCursor) -> HeldRunListener {
        let mut entries = self.lock();
        let entry = entries.entry(run).or_insert_with(|| HeldRunState {
            changes: watch::Sender::new(0),
            seen,
            asked_at: Instant::now(),
            changed_at: None,
            read: None,
        });
        (entry.seen, entry.asked_at) = (seen, Instant::now());
        HeldRunListener { run, runs: self.clone(), changes: entry.changes.subscribe() }
    }

    fn wake(&self, run: RunId) {
        if let Some(entry) = self.lock().get_mut(&run) {
            entry.wake();
        }
    }

    /// Receives the changes of other replicas.
    async fn receive(&self, bus: &Bus) {
        let Ok(mut changes) = bus.subscribe(SUBJECT).await else { return std::future::pending().await };
        while let Some(change) = changes.next().await {
            if let Some((run, replica)) = parse_change(&change)
                && replica != self.replica
            {
                self.wake(run);
            }
        }
        std::future::pending().await
    }

    /// Reads all held runs, with one statement.
    async fn poll(&self, store: &Store) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let held = self.held();
            if held.is_empty() {
                continue;
            }
            let read_at = Instant::now();
            match store.answer(runs::list_held(store, &held)).await {
                Ok(found) => self.apply(found, read_at),
                Err(error) => debug!(error = &error as &dyn std::error::Error, "cannot read the held runs"),
            }
        }
    }

    fn held(&self) -> Vec<RunId> {
        let mut entries = self.lock();
        entries
            .retain(|_, entry| entry.changes.receiver_count() > 0 || entry.asked_at.elapsed() < FORGET_AFTER);
        entries.keys().copied().collect()
    }

    fn apply(&self, found: Vec<HeldRun>, read_at: Instant) {
        let mut entries = self.lock();
        for run in found {
            let Some(entry) = entries.get_mut(&run.id) else { continue };
            // It was read before the last change, or while that was made.
            if entry.changed_at.is_some_and(|changed_at| changed_at >= read_at) {
                continue;
            }
            if entry.seen.is_outdated_by(&run) {
                entry.notify();
                // The holder reads the run now; the same state does not wake it again.
                entry.seen.after = entry.seen.after.max(run.commands);
                entry.seen.cancel_seq = entry.seen.cancel_seq.max(run.cancel_seq);
            }
            entry.read = Some((read_at, run));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, HeldRunState>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldRunState {
    /// Wakes the holder. What was read before is no longer known to be true.
    fn wake(&mut self) {
        (self.read, self.changed_at) = (None, Some(Instant::now()));
        self.notify();
    }

    fn notify(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

impl HeldRunListener {
    /// Returns whether the run was read lately, has nothing that the holder has not seen, and its holder was not revoked.
    pub(crate) fn is_unchanged(&self, seen: WorkCursor) -> bool {
        self.last_read().is_some_and(|run| !seen.is_outdated_by(&run))
    }

    /// Returns the run as it was read lately, unless it was changed since.
    pub(crate) fn last_read(&self) -> Option<HeldRun> {
        let entries = self.runs.lock();
        let (read_at, run) = entries.get(&self.run)?.read.as_ref()?;
        (read_at.elapsed() < MAX_AGE).then(|| run.clone())
    }

    /// Waits for a change.
    pub(crate) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // The entry was removed, which cannot happen while it is watched.
            std::future::pending().await
        }
    }
}

/// Sends changes to other replicas.
async fn send(bus: &Bus, mut queued: mpsc::Receiver<RunId>, replica: Uuid) {
    while let Some(run) = queued.recv().await {
        bus.publish(SUBJECT, format!("{run} {replica}").into_bytes()).await;
    }
    std::future::pending().await
}

/// Reads a change: the run, and the replica that has changed it.
fn parse_change(change: &[u8]) -> Option<(RunId, Uuid)> {
    let (run, replica) = std::str::from_utf8(change).ok()?.split_once(' ')?;
    Some((run.parse().ok()?, replica.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn runs() -> HeldRuns {
        HeldRuns { entries: Arc::default(), changed: mpsc::channel(1).0, replica: Uuid::nil() }
    }

    fn held(id: RunId) -> HeldRun {
        HeldRun {
            id,
            commands: 1,
            cancel_seq: Seq::ZERO,
            is_ended: false,
            epoch: Some(Epoch::new(1)),
            is_authorized: true,
            must_release: false,
            is_needed_elsewhere: false,
        }
    }

    const SEEN: WorkCursor = WorkCursor { epoch: Epoch::new(1), after: 1, cancel_seq: Seq::ZERO };

    fn is_woken(watch: &mut HeldRunListener) -> bool {
        watch.changed().now_or_never().is_some()
    }

    #[tokio::test]
    async fn poll_wakes_only_holders_with_something_new() {
        let changes: [fn(&mut HeldRun); 6] = [
            |run| run.commands = 2,
            |run| run.cancel_seq = Seq::new(7).expect("a seq"),
            |run| run.is_ended = true,
            |run| run.epoch = None,
            |run| run.is_authorized = false,
            |run| run.must_release = true,
        ];
        for change in changes {
            let (runs, id) = (runs(), RunId::generate());
            let mut watch = runs.watch(id, SEEN);
            runs.apply(vec![held(id)], Instant::now());
            assert!(!is_woken(&mut watch) && watch.is_unchanged(SEEN));
            let mut changed = held(id);
            change(&mut changed);
            runs.apply(vec![changed], Instant::now());
            assert!(is_woken(&mut watch) && !watch.is_unchanged(SEEN));
        }
    }

    #[tokio::test]
    async fn commit_wakes_the_holder_who_then_reads_the_run() {
        let (runs, id) = (runs(), RunId::generate());
        let (mut watch, mut other) = (runs.watch(id, SEEN), runs.watch(RunId::generate(), SEEN));
        runs.apply(vec![held(id)], Instant::now());
        runs.announce(id);
        assert!(is_woken(&mut watch) && !is_woken(&mut other));
        assert!(!watch.is_unchanged(SEEN), "what was read is old");
        runs.apply(vec![held(id)], Instant::now() - Duration::from_secs(1));
        assert!(!watch.is_unchanged(SEEN), "it was read before the change");
    }

    #[tokio::test]
    async fn run_that_somebody_watches_is_not_forgotten() {
        let (runs, id) = (runs(), RunId::generate());
        let _watch = runs.watch(id, SEEN);
        assert_eq!(runs.held(), [id]);
    }
}
