//! Tells a reader on this replica which inboxes have grown.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use guildhall_domain::messages::InboxId;
use guildhall_runtime::reconcile::Signal;

/// Watches inboxes that have no connections. A hint: growth that was not announced is found by reading. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct GrowthWatch(Arc<Watched>);

#[derive(Debug, Default)]
struct Watched {
    inboxes: Mutex<BTreeSet<InboxId>>,
    grown: Mutex<BTreeSet<InboxId>>,
    signal: OnceLock<Signal>,
}

impl GrowthWatch {
    /// Sets what is signalled when a watched inbox grows.
    pub fn notify(&self, signal: Signal) {
        let _set_once = self.0.signal.set(signal);
    }

    /// Watches these inboxes instead of the ones before.
    pub fn watch(&self, inboxes: impl IntoIterator<Item = InboxId>) {
        *lock(&self.0.inboxes) = inboxes.into_iter().collect();
    }

    /// Returns the watched inboxes that have grown since the last call.
    #[must_use]
    pub fn take_grown(&self) -> Vec<InboxId> {
        std::mem::take(&mut *lock(&self.0.grown)).into_iter().collect()
    }

    pub(super) fn has_grown(&self, inbox: InboxId) {
        if lock(&self.0.inboxes).contains(&inbox) {
            lock(&self.0.grown).insert(inbox);
            if let Some(signal) = self.0.signal.get() {
                signal.notify();
            }
        }
    }
}

/// No code that holds a lock can panic in the middle of a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watched_inbox_is_returned_once_for_each_growth() {
        let watch = GrowthWatch::default();
        let [first, second] = [InboxId::new(1), InboxId::new(2)];
        watch.has_grown(first);
        assert_eq!(watch.take_grown(), []);
        watch.watch([first, second]);
        for inbox in [second, first, second] {
            watch.has_grown(inbox);
        }
        assert_eq!(watch.take_grown(), [first, second]);
        assert_eq!(watch.take_grown(), []);
        watch.watch([second]);
        watch.has_grown(first);
        assert_eq!(watch.take_grown(), []);
    }
}
