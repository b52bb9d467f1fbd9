//! Named tasks that somebody joins.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

/// The tasks of one server. Cheap to clone.
///
/// A task that panics stops the server: half a server that looks alive is worse than a restart.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    running: Arc<Mutex<BTreeMap<&'static str, usize>>>,
    panicked: CancellationToken,
}

impl Tasks {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the token that every loop selects on.
    #[must_use]
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task that [`Tasks::shutdown`] waits for.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that spawns, so that all are joined"
    )]
    pub fn spawn<F>(&self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let guard = Running::enter(name, Arc::clone(&self.running));
        let (stop, panicked) = (self.stop.clone(), self.panicked.clone());
        tokio::spawn(self.tracker.track_future(async move {
            let _guard = guard;
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                error!(task = name, "task {name} panicked; the server stops");
                panicked.cancel();
                stop.cancel();
            }
        }));
    }

    /// Asks every task to stop and waits for them, at most `patience` long.
    /// Returns the names of the tasks that did not end in time.
    pub async fn shutdown(&self, patience: Duration) -> Vec<&'static str> {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(patience, self.tracker.wait()).await.is_ok() {
            return Vec::new();
        }
        let left: Vec<_> = self.names().into_keys().collect();
        warn!(tasks = ?left, "tasks did not end within {patience:?}");
        left
    }

    /// Returns how many tasks of each name run now.
    #[must_use]
    pub fn names(&self) -> BTreeMap<&'static str, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether a task ended by a panic.
    #[must_use]
    pub fn panicked(&self) -> bool {
        self.panicked.is_cancelled()
    }
}

/// Counts a task by name for as long as it lives.
struct Running {
    name: &'static str,
    all: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

impl Running {
    fn enter(name: &'static str, all: Arc<Mutex<BTreeMap<&'static str, usize>>>) -> Self {
        *all.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        Self { name, all }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(self.name) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => {
                all.remove(self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shutdown_waits_for_a_task_that_listens() {
        let tasks = Tasks::new();
        let stop = tasks.stop();
        tasks.spawn("listener", async move { stop.cancelled().await });
        assert_eq!(tasks.names(), BTreeMap::from([("listener", 1)]));
        assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Vec::<&str>::new());
        assert!(tasks.names().is_empty());
    }

    #[tokio::test]
    async fn shutdown_names_a_task_that_does_not_end() {
        let tasks = Tasks::new();
        tasks.spawn("deaf", std::future::pending());
        assert_eq!(tasks.shutdown(Duration::from_millis(20)).await, vec!["deaf"]);
    }

    #[tokio::test]
    async fn a_panicking_task_stops_the_others() {
        let tasks = Tasks::new();
        tasks.spawn("bad", async { panic!("on purpose") });
        tokio::time::timeout(Duration::from_secs(5), tasks.stop().cancelled()).await.expect("stopped");
        assert!(tasks.panicked());
    }
}
