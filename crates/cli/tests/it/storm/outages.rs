//! Times in which the whole system may be down.

use std::sync::Mutex;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(super) struct Outages(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    total: Duration,
    since: Option<Instant>,
}

impl Outages {
    pub(super) fn begin(&self) {
        self.0.lock().expect("the lock is not poisoned").since = Some(Instant::now());
    }

    pub(super) fn end(&self) {
        let mut state = self.0.lock().expect("the lock is not poisoned");
        let duration = state.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        state.total += duration;
    }

    /// Returns the total since the start.
    pub(super) fn total(&self) -> Duration {
        let state = self.0.lock().expect("the lock is not poisoned");
        state.total + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}
