//! What clients are told while something is down: load has to keep flowing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A request succeeds within some seconds where one of two servers or NATS is down.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Counts the requests that were made and confirmed during one outage.
#[derive(Debug, Default)]
pub(crate) struct OutageProgress {
    is_required: AtomicBool,
    /// The number of the present outage, or of the next one where there is none.
    number: AtomicU64,
    is_down: AtomicBool,
    confirmed: AtomicU64,
    counts: Mutex<BTreeMap<&'static str, Vec<u64>>>,
}

/// The outage in which a request was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outage(u64);

impl OutageProgress {
    /// From now on, nothing is started again before a client has reported a confirmed request.
    pub(crate) fn require(&self) {
        self.is_required.store(true, Ordering::SeqCst);
    }

    /// Returns the present outage. Clients ask before each request.
    pub(crate) fn present(&self) -> Option<Outage> {
        self.is_down.load(Ordering::SeqCst).then(|| Outage(self.number.load(Ordering::SeqCst)))
    }

    /// Records that a request was confirmed. One that was made before the outage does not count.
    pub(crate) fn record_confirmed(&self, made_in: Option<Outage>) {
        if made_in.is_some() && made_in == self.present() {
            self.confirmed.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Returns the counts of all outages, by what was down.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, Vec<u64>> {
        self.counts.lock().expect("the lock is not poisoned").clone()
    }

    pub(super) fn begin(&self) {
        self.confirmed.store(0, Ordering::SeqCst);
        self.is_down.store(true, Ordering::SeqCst);
    }

    /// Waits until something was confirmed, if the test requires it.
    pub(super) async fn wait_for_confirmed(&self) {
        let waited = Instant::now();
        while self.is_required.load(Ordering::SeqCst) && self.confirmed.load(Ordering::SeqCst) == 0 {
            assert!(waited.elapsed() < MAX_WAIT, "nothing is confirmed during an outage");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends an outage, before what was down is started again.
    pub(super) fn end(&self, what: &'static str) {
        self.is_down.store(false, Ordering::SeqCst);
        self.number.fetch_add(1, Ordering::SeqCst);
        let confirmed = self.confirmed.load(Ordering::SeqCst);
        self.counts.lock().expect("the lock is not poisoned").entry(what).or_default().push(confirmed);
    }
}
