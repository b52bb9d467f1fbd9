//! Health of this replica: background probes, and reports from their last results.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::ids::ReplicaId;
use guildhall_domain::ops::readiness::{
    BusProbe, Housekeeping, Observation, Readiness, ReplicaObservations, StoreProbe,
};
use guildhall_domain::ops::replica::Replica;
use guildhall_domain::profiles::{ProfileOwner, StoredProfile};
use guildhall_domain::runs::policy::{BackendProfile, SecretRef};
use guildhall_launcher::secrets::SecretStore;
use guildhall_runtime::reconcile::{ReconcilerStatus, Reconcilers};
use guildhall_runtime::{Clock, Tasks};
use guildhall_store::replicas;
use guildhall_store::{Store, schema_state};
use jiff::Timestamp;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::ServiceError;

/// How often each engine is probed, so that its recovery is noticed well within 5 s.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// A probe that takes longer has failed.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// How often the credentials of the shared profiles are looked up: they change by hand.
const SECRETS_PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Shared profiles in one report.
const MAX_PROFILES: usize = 200;

/// Replicas in one list.
const MAX_REPLICAS: u32 = 100;

/// The build and configuration of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaIdentity {
    pub replica: ReplicaId,
    pub version: String,
    pub commit: String,
    pub started_at: Timestamp,
    /// The latest migration that this binary knows.
    pub known_migration: i64,
    /// The names of the configured secrets, and whether each is set.
    pub secrets: Vec<(String, bool)>,
}

/// The readiness of a replica, and the observations behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthReport {
    pub readiness: Readiness,
    pub observed: ReplicaObservations,
    pub at: Timestamp,
}

/// Probes PostgreSQL and NATS, and reports the readiness of this replica.
#[derive(Debug)]
pub struct Health {
    identity: ReplicaIdentity,
    clock: Clock,
    store: Store,
    bus: Bus,
    /// Holds the credentials of provider profiles. Without it, runners bring their own.
    secrets: Option<Arc<dyn SecretStore>>,
    reconcilers: Reconcilers,
    draining: AtomicBool,
    results: Mutex<ProbeResults>,
}

#[derive(Debug, Default)]
struct ProbeResults {
    store: Option<Observation<StoreProbe>>,
    bus: Option<Observation<BusProbe>>,
    /// The secret of each shared profile, and whether it is set.
    provider_secrets: Vec<(String, bool)>,
    logged_readiness: Option<&'static str>,
}

impl Health {
    #[must_use]
    pub fn new(
        identity: ReplicaIdentity,
        clock: Clock,
        store: Store,
        bus: Bus,
        secrets: Option<Arc<dyn SecretStore>>,
        reconcilers: Reconcilers,
    ) -> Arc<Self> {
        let (draining, results) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Self { identity, clock, store, bus, secrets, reconcilers, draining, results })
    }

    /// Probes the engines and the secret store once, then keeps probing in the background.
    pub async fn start_probes(self: &Arc<Self>, tasks: &Tasks) {
        tokio::join!(self.probe_store(), self.probe_bus(), self.probe_secrets());
        let (this, stop) = (Arc::clone(self), tasks.stop());
        tasks.spawn("probe-postgres", async move {
            while wait_or_stop(&stop, PROBE_INTERVAL).await {
                this.probe_store().await;
            }
        });
        let (this, stop) = (Arc::clone(self), tasks.stop());
        tasks.spawn("probe-nats", async move {
            while wait_or_stop(&stop, PROBE_INTERVAL).await {
                this.probe_bus().await;
            }
        });
        let (this, stop) = (Arc::clone(self), tasks.stop());
        tasks.spawn("probe-secrets", async move {
            while wait_or_stop(&stop, SECRETS_PROBE_INTERVAL).await {
                this.probe_secrets().await;
            }
        });
    }

    #[must_use]
    pub fn identity(&self) -> &ReplicaIdentity {
        &self.identity
    }

    /// Returns the configured secrets and those of the shared provider profiles, and whether each is set.
    #[must_use]
    pub fn secrets(&self) -> Vec<(String, bool)> {
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        self.identity.secrets.iter().chain(&results.provider_secrets).cloned().collect()
    }

    /// Makes this replica unready. It still serves the requests that reach it.
    pub fn begin_drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Decides readiness from the last probe results. Calls no engine, so it never blocks.
    #[must_use]
    pub fn report(&self) -> HealthReport {
        let at = self.clock.now();
        let (store, bus) = {
            let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            (results.store, results.bus)
        };
        let observed = ReplicaObservations {
            started_at: self.identity.started_at,
            draining: self.draining.load(Ordering::SeqCst),
            store,
            bus,
            housekeeping: self.reconcilers.statuses().into_iter().map(housekeeping).collect(),
        };
        HealthReport { readiness: Readiness::decide(&observed, at), observed, at }
    }

    /// Reads the replicas of the installation from PostgreSQL.
    pub async fn replicas(&self) -> Result<Vec<Replica>, ServiceError> {
        Ok(replicas::list(&self.store, MAX_REPLICAS).await?)
    }

    async fn probe_store(&self) {
        let value = match timeout(PROBE_TIMEOUT, schema_state::read(&self.store)).await {
            Ok(Ok(state)) => StoreProbe::Reachable(state.compatibility(self.identity.known_migration)),
            Ok(Err(_)) | Err(_) => StoreProbe::Unreachable,
        };
        self.store_result(|results, at| results.store = Some(Observation { at, value }));
    }

    async fn probe_bus(&self) {
        let value = match self.bus.round_trip(PROBE_TIMEOUT).await {
            Ok(()) => BusProbe::Reachable,
            Err(_) => BusProbe::Unreachable,
        };
        self.store_result(|results, at| results.bus = Some(Observation { at, value }));
    }

    /// Looks up which shared profiles have their credential. Profiles of tenants are not shown to everybody.
    async fn probe_secrets(&self) {
        let Some(secrets) = &self.secrets else { return };
        let listed = timeout(PROBE_TIMEOUT, secrets.list(ProfileOwner::Shared, MAX_PROFILES)).await;
        // A store that cannot be read has no usable credential.
        let stored = listed.ok().and_then(Result::ok).unwrap_or_default();
        let found = provider_secrets(&stored);
        self.results.lock().unwrap_or_else(PoisonError::into_inner).provider_secrets = found;
    }

    /// Stores a probe result, and logs a change of readiness.
    fn store_result(&self, write: impl FnOnce(&mut ProbeResults, Timestamp)) {
        {
            let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            write(&mut results, self.clock.now());
        }
        let readiness = self.report().readiness;
        let before = {
            let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            results.logged_readiness.replace(readiness.as_str())
        };
        if before.is_some_and(|before| before != readiness.as_str()) {
            let reasons: Vec<String> = readiness.reasons().iter().map(ToString::to_string).collect();
            match readiness {
                Readiness::Ready => info!("this replica is ready"),
                Readiness::Degraded(_) => warn!(?reasons, "this replica is degraded"),
                Readiness::Unready(_) if self.draining.load(Ordering::SeqCst) => {
                    info!(?reasons, "this replica is unready");
                }
                Readiness::Unready(_) => warn!(?reasons, "this replica is unready"),
            }
        }
    }
}

async fn wait_or_stop(stop: &tokio_util::sync::CancellationToken, interval: Duration) -> bool {
    tokio::select! {
        () = stop.cancelled() => false,
        () = tokio::time::sleep(interval) => true,
    }
}

fn housekeeping(status: ReconcilerStatus) -> Housekeeping {
    Housekeeping {
        name: status.name,
        every: status.every,
        last_run_at: status.last_run_at,
        last_success_at: status.last_success_at,
        next_run_at: status.next_run_at,
        last_error: status.last_error,
    }
}

/// Returns the secrets of the built-in profiles and of the stored ones, by name.
fn provider_secrets(stored: &[(BackendProfile, StoredProfile)]) -> Vec<(String, bool)> {
    let mut is_set: BTreeMap<BackendProfile, bool> =
        BackendProfile::built_in_with_credential().map(|profile| (profile, false)).collect();
    is_set.extend(stored.iter().map(|(profile, stored)| (profile.clone(), stored.is_configured())));
    is_set.into_iter().map(|(profile, set)| (SecretRef::provider_name(&profile), set)).collect()
}
