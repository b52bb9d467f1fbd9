//! Named tasks that are joined at shutdown.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use metrics::counter;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

/// The tasks of one server. Cheap to clone.
///
/// A panic in a task stops the server: a restart is better than a partially working server.
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
    pub fn spawn<F>(&self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, panicked) = (self.stop.clone(), self.panicked.clone());
        self.start(name, task, move || {
            error!(task = name, "task {name} panicked; the server stops");
            panicked.cancel();
            stop.cancel();
        });
    }

    /// Starts a task of one client, like [`Tasks::spawn`]. Its panic ends nothing but the task: other clients go on.
    pub fn spawn_isolated<F>(&self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.start(name, task, move || {
            error!(task = name, "task {name} of a client panicked; it was ended");
            counter!("guildhall_task_panics_total", "task" => name).increment(1);
        });
    }

    #[expect(clippy::disallowed_methods, reason = "the only place that spawns, so that all tasks are joined")]
    fn start<F>(&self, name: &'static str, task: F, on_panic: impl FnOnce() + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let guard = RunningTask::enter(name, Arc::clone(&self.running));
        // Combined without an async block, which would hold the task twice: as what it captures, and as what it awaits.
        let guarded = AssertUnwindSafe(task).catch_unwind().map(move |ended| {
            let _guard = guard;
            if ended.is_err() {
                on_panic();
            }
        });
        tokio::spawn(self.tracker.track_future(guarded));
    }

    /// Stops all tasks and waits for them, at most `timeout`. Returns the names of the tasks that did not end in time.
    pub async fn shutdown(&self, timeout: Duration) -> Vec<&'static str> {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(timeout, self.tracker.wait()).await.is_ok() {
            return Vec::new();
        }
        let remaining: Vec<_> = self.running().into_keys().collect();
        warn!(tasks = ?remaining, "tasks did not end within {timeout:?}");
        remaining
    }

    /// Returns the number of running tasks by name.
    #[must_use]
    pub fn running(&self) -> BTreeMap<&'static str, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether a task panicked.
    #[must_use]
    pub fn panicked(&self) -> bool {
        self.panicked.is_cancelled()
    }
}

/// Counts a task by name while it runs.
struct RunningTask {
    name: &'static str,
    all: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

impl RunningTask {
    fn enter(name: &'static str, all: Arc<Mutex<BTreeMap<&'static str, usize>>>) -> Self {
        *all.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        Self { name, all }
    }
}

impl Drop for RunningTask {
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
    async fn shutdown_waits_for_tasks() {
        let tasks = Tasks::new();
        let stop = tasks.stop();
        tasks.spawn("listener", async move { stop.cancelled().await });
        assert_eq!(tasks.running(), BTreeMap::from([("listener", 1)]));
        assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Vec::<&str>::new());
        assert!(tasks.running().is_empty());
    }

    #[tokio::test]
    async fn shutdown_returns_tasks_that_do_not_end() {
        let tasks = Tasks::new();
        tasks.spawn("stuck", std::future::pending());
        assert_eq!(tasks.shutdown(Duration::from_millis(20)).await, vec!["stuck"]);
    }

    #[tokio::test]
    async fn panic_in_a_task_stops_all_tasks() {
        let tasks = Tasks::new();
        tasks.spawn("bad", async { panic!("on purpose") });
        tokio::time::timeout(Duration::from_secs(5), tasks.stop().cancelled()).await.expect("stopped");
        assert!(tasks.panicked());
    }

    #[tokio::test]
    async fn panic_in_the_task_of_a_client_ends_only_that_task() {
        let tasks = Tasks::new();
        tasks.spawn("server", std::future::pending());
        tasks.spawn_isolated("client", async { panic!("on purpose") });
        while tasks.running() != BTreeMap::from([("server", 1)]) {
            tokio::task::yield_now().await;
        }
        assert!(!tasks.panicked() && !tasks.stop().is_cancelled());
    }
}
