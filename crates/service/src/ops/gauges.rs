//! Gauges that are set when metrics are read: readiness, and counts from the database.

use std::sync::Arc;
use std::time::Duration;

use guildhall_store::runners::RunnerCounts;
use guildhall_store::{Store, StoreError, runners, runs};
use metrics::gauge;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::health::Health;

/// Counts younger than this are not read again: less than the interval at which Prometheus usually scrapes.
const MIN_READ_INTERVAL: Duration = Duration::from_secs(10);

/// How long a reader of the metrics waits for the database. Then it gets the last counts.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// A runner that asked for a run within this time counts as idle. Runners ask every few seconds.
const SEEN_WITHIN: Duration = Duration::from_secs(60);

const READINESS: [&str; 3] = ["ready", "degraded", "unready"];

/// Sets the gauges of this replica.
#[derive(Debug)]
pub struct Gauges {
    store: Store,
    health: Arc<Health>,
    /// When the counts were read last. Held while they are read.
    read_at: Mutex<Option<Instant>>,
}

impl Gauges {
    pub(super) fn new(store: Store, health: Arc<Health>) -> Self {
        Self { store, health, read_at: Mutex::new(None) }
    }

    /// Sets the gauges. Never fails: without the database, the counts stay as they are.
    pub async fn refresh(&self) {
        let current = self.health.report().readiness.as_str();
        for status in READINESS {
            gauge!("guildhall_readiness", "status" => status).set(if status == current { 1.0 } else { 0.0 });
        }
        // Another reader is reading them.
        let Ok(mut read_at) = self.read_at.try_lock() else { return };
        if read_at.is_some_and(|at| at.elapsed() < MIN_READ_INTERVAL) {
            return;
        }
        *read_at = Some(Instant::now());
        match timeout(READ_TIMEOUT, self.read_counts()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                debug!(error = &error as &dyn std::error::Error, "cannot count runs and runners")
            }
            Err(_) => debug!("cannot count runs and runners within {READ_TIMEOUT:?}"),
        }
    }

    async fn read_counts(&self) -> Result<(), StoreError> {
        let waiting = runs::count_waiting(&self.store).await?;
        let RunnerCounts { busy, idle, draining } = runners::count_by_state(&self.store, SEEN_WITHIN).await?;
        gauge!("guildhall_runs_waiting").set(waiting as f64);
        for (state, count) in [("busy", busy), ("idle", idle), ("draining", draining)] {
            gauge!("guildhall_runners", "state" => state).set(count as f64);
        }
        Ok(())
    }
}
