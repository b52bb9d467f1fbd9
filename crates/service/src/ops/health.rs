//! Whether this replica is well: probes in the background, answers from what they last saw.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::ids::ReplicaId;
use guildhall_domain::ops::readiness::{BusSeen, Housekeeping, Observation, Observed, Readiness, StoreSeen};
use guildhall_runtime::reconcile::{Reconcilers, Status};
use guildhall_runtime::{Clock, Tasks};
use guildhall_store::replicas::{self, Replica};
use guildhall_store::{Store, schema_state};
use jiff::Timestamp;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::ServiceError;

/// Probes come round this often, so that an engine that returns is noticed well within 5 s.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// A probe that takes longer than this has failed.
const PROBE_AT_MOST: Duration = Duration::from_secs(2);

/// More replicas than this are not listed in one answer.
const REPLICAS_LISTED: u32 = 100;

/// What a replica says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub replica: ReplicaId,
    pub version: String,
    pub commit: String,
    pub started_at: Timestamp,
    /// The highest migration that this binary knows.
    pub known_migration: i64,
    /// The names of the secrets it was given, and whether each is set.
    pub secrets: Vec<(String, bool)>,
}

/// Everything behind a readiness answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub readiness: Readiness,
    pub observed: Observed,
    pub at: Timestamp,
}

/// Watches the engines and answers for this replica.
#[derive(Debug)]
pub struct Health {
    identity: Identity,
    clock: Clock,
    store: Store,
    bus: Bus,
    reconcilers: Reconcilers,
    draining: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    store: Option<Observation<StoreSeen>>,
    bus: Option<Observation<BusSeen>>,
    said: Option<&'static str>,
}

impl Health {
    #[must_use]
    pub fn new(
        identity: Identity,
        clock: Clock,
        store: Store,
        bus: Bus,
        reconcilers: Reconcilers,
    ) -> Arc<Self> {
        let (draining, seen) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Self { identity, clock, store, bus, reconcilers, draining, seen })
    }

    /// Looks at both engines once, then keeps looking in the background.
    pub async fn watch(self: &Arc<Self>, tasks: &Tasks) {
        tokio::join!(self.look_at_store(), self.look_at_bus());
        let (this, stop) = (Arc::clone(self), tasks.stop());
        tasks.spawn("probe-postgres", async move {
            while wait_or_stop(&stop).await {
                this.look_at_store().await;
            }
        });
        let (this, stop) = (Arc::clone(self), tasks.stop());
        tasks.spawn("probe-nats", async move {
            while wait_or_stop(&stop).await {
                this.look_at_bus().await;
            }
        });
    }

    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Takes this replica out of traffic; it goes on serving what reaches it.
    pub fn begin_drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Decides on readiness from what was last seen. Asks nobody, so it answers at once whatever is away.
    #[must_use]
    pub fn report(&self) -> Report {
        let at = self.clock.now();
        let (store, bus) = {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            (seen.store, seen.bus)
        };
        let observed = Observed {
            started_at: self.identity.started_at,
            draining: self.draining.load(Ordering::SeqCst),
            store,
            bus,
            housekeeping: self.reconcilers.statuses().into_iter().map(housekeeping).collect(),
        };
        Report { readiness: Readiness::decide(&observed, at), observed, at }
    }

    /// Reads the replicas of the installation from PostgreSQL.
    pub async fn replicas(&self) -> Result<Vec<Replica>, ServiceError> {
        Ok(replicas::list(&self.store, REPLICAS_LISTED).await?)
    }

    async fn look_at_store(&self) {
        let seen = match timeout(PROBE_AT_MOST, schema_state::read(&self.store)).await {
            Ok(Ok(state)) => StoreSeen::Reachable(state.verdict(self.identity.known_migration)),
            Ok(Err(_)) | Err(_) => StoreSeen::Unreachable,
        };
        self.note(|notes, at| notes.store = Some(Observation { at, seen }));
    }

    async fn look_at_bus(&self) {
        let seen = match self.bus.round_trip(PROBE_AT_MOST).await {
            Ok(()) => BusSeen::Reachable,
            Err(_) => BusSeen::Unreachable,
        };
        self.note(|notes, at| notes.bus = Some(Observation { at, seen }));
    }

    /// Keeps an observation, and says in the log when the verdict changes.
    fn note(&self, write: impl FnOnce(&mut Seen, Timestamp)) {
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            write(&mut seen, self.clock.now());
        }
        let readiness = self.report().readiness;
        let before = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.said.replace(readiness.as_str())
        };
        if before.is_some_and(|before| before != readiness.as_str()) {
            let reasons: Vec<String> = readiness.reasons().iter().map(ToString::to_string).collect();
            match readiness {
                Readiness::Ready => info!("this replica is ready"),
                Readiness::Degraded(_) => warn!(?reasons, "this replica is degraded"),
                Readiness::Unready(_) => warn!(?reasons, "this replica is unready"),
            }
        }
    }
}

async fn wait_or_stop(stop: &tokio_util::sync::CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => false,
        () = tokio::time::sleep(PROBE_EVERY) => true,
    }
}

fn housekeeping(status: Status) -> Housekeeping {
    Housekeeping {
        name: status.name,
        every: status.every,
        last_run_at: status.last_run_at,
        last_success_at: status.last_success_at,
        next_run_at: status.next_run_at,
        last_error: status.last_error,
    }
}
