//! Readiness of a replica, decided from its last probes and its background tasks.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::ops::schema::SchemaCompatibility;

/// Maximum age of a valid observation: three missed probes of one second each, plus slack.
const MAX_OBSERVATION_AGE: SignedDuration = SignedDuration::from_secs(5);

/// Minimum delay after which a task counts as late. For longer intervals the delay is one interval.
const MIN_LATE_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// A probe result and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation<T> {
    pub at: Timestamp,
    pub value: T,
}

/// Result of a PostgreSQL probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreProbe {
    Unreachable,
    Reachable(SchemaCompatibility),
}

/// Result of a NATS probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusProbe {
    Unreachable,
    Reachable,
}

/// Status of a background task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Housekeeping {
    pub name: &'static str,
    pub every: Duration,
    pub last_run_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub next_run_at: Timestamp,
    pub last_error: Option<String>,
}

impl Housekeeping {
    /// Returns whether the last success is too long ago.
    #[must_use]
    pub fn is_late(&self, started_at: Timestamp, now: Timestamp) -> bool {
        let every = SignedDuration::try_from(self.every).unwrap_or(SignedDuration::MAX);
        let max_age = every.saturating_add(every.max(MIN_LATE_AFTER));
        let since = self.last_success_at.unwrap_or(started_at);
        now.duration_since(since) > max_age
    }
}

/// The input of the readiness decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaObservations {
    pub started_at: Timestamp,
    pub draining: bool,
    pub store: Option<Observation<StoreProbe>>,
    pub bus: Option<Observation<BusProbe>>,
    pub housekeeping: Vec<Housekeeping>,
}

/// A reason for not being `Ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Draining,
    StoreUnreachable,
    SchemaBehind { applied: i64, required: i64 },
    SchemaTooNew { floor: i64, known: i64 },
    BusUnreachable,
    HousekeepingLate { name: &'static str },
}

impl Reason {
    fn forbids_traffic(self) -> bool {
        match self {
            Self::Draining
            | Self::StoreUnreachable
            | Self::SchemaBehind { .. }
            | Self::SchemaTooNew { .. } => true,
            Self::BusUnreachable | Self::HousekeepingLate { .. } => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Draining => f.write_str("the server is shutting down and accepts no new work"),
            Self::StoreUnreachable => f.write_str("PostgreSQL does not respond"),
            Self::SchemaBehind { applied, required } => {
                write!(f, "the database has migration {applied}, this server needs {required}")
            }
            Self::SchemaTooNew { floor, known } => {
                write!(f, "the database needs a server that knows migration {floor}, this one knows {known}")
            }
            Self::BusUnreachable => f.write_str("NATS does not respond: updates arrive late, none is lost"),
            Self::HousekeepingLate { name } => write!(f, "housekeeping `{name}` is late"),
        }
    }
}

/// Readiness of a replica. A degraded replica serves requests; an unready one must not receive traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    Degraded(Vec<Reason>),
    Unready(Vec<Reason>),
}

impl Readiness {
    #[must_use]
    pub fn decide(observed: &ReplicaObservations, now: Timestamp) -> Self {
        let reasons: Vec<Reason> = [
            observed.draining.then_some(Reason::Draining),
            store_reason(observed.store, now),
            bus_reason(observed.bus, now),
        ]
        .into_iter()
        .flatten()
        .chain(late_housekeeping(observed, now))
        .collect();

        if reasons.is_empty() {
            Self::Ready
        } else if reasons.iter().any(|reason| reason.forbids_traffic()) {
            Self::Unready(reasons)
        } else {
            Self::Degraded(reasons)
        }
    }

    /// Returns the status name.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Degraded(_) => "degraded",
            Self::Unready(_) => "unready",
        }
    }

    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Self::Ready => &[],
            Self::Degraded(reasons) | Self::Unready(reasons) => reasons,
        }
    }
}

fn store_reason(store: Option<Observation<StoreProbe>>, now: Timestamp) -> Option<Reason> {
    match recent_value(store, now) {
        None | Some(StoreProbe::Unreachable) => Some(Reason::StoreUnreachable),
        Some(StoreProbe::Reachable(SchemaCompatibility::Compatible)) => None,
        Some(StoreProbe::Reachable(SchemaCompatibility::Behind { applied, required })) => {
            Some(Reason::SchemaBehind { applied, required })
        }
        Some(StoreProbe::Reachable(SchemaCompatibility::TooNew { floor, known })) => {
            Some(Reason::SchemaTooNew { floor, known })
        }
    }
}

fn bus_reason(bus: Option<Observation<BusProbe>>, now: Timestamp) -> Option<Reason> {
    match recent_value(bus, now) {
        None | Some(BusProbe::Unreachable) => Some(Reason::BusUnreachable),
        Some(BusProbe::Reachable) => None,
    }
}

fn late_housekeeping(observed: &ReplicaObservations, now: Timestamp) -> impl Iterator<Item = Reason> + '_ {
    observed
        .housekeeping
        .iter()
        .filter(move |task| task.is_late(observed.started_at, now))
        .map(|task| Reason::HousekeepingLate { name: task.name })
}

/// Returns the value unless it is too old: a stuck probe must not look healthy.
fn recent_value<T>(observation: Option<Observation<T>>, now: Timestamp) -> Option<T> {
    observation.filter(|o| now.duration_since(o.at) <= MAX_OBSERVATION_AGE).map(|o| o.value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn at(seconds_ago: i64) -> Timestamp {
        Timestamp::from_second(NOW - seconds_ago).expect("in range")
    }

    fn healthy() -> ReplicaObservations {
        ReplicaObservations {
            started_at: at(3600),
            draining: false,
            store: Some(Observation {
                at: at(0),
                value: StoreProbe::Reachable(SchemaCompatibility::Compatible),
            }),
            bus: Some(Observation { at: at(0), value: BusProbe::Reachable }),
            housekeeping: vec![task(5)],
        }
    }

    fn task(succeeded_seconds_ago: i64) -> Housekeeping {
        Housekeeping {
            name: "replicas",
            every: Duration::from_secs(15),
            last_run_at: Some(at(succeeded_seconds_ago)),
            last_success_at: Some(at(succeeded_seconds_ago)),
            next_run_at: at(0),
            last_error: None,
        }
    }

    fn decide(observed: &ReplicaObservations) -> Readiness {
        Readiness::decide(observed, at(0))
    }

    #[test]
    fn healthy_replica_is_ready() {
        assert_eq!(decide(&healthy()), Readiness::Ready);
    }

    #[test]
    fn replica_without_nats_is_degraded() {
        let observed = ReplicaObservations { bus: None, ..healthy() };
        assert_eq!(decide(&observed), Readiness::Degraded(vec![Reason::BusUnreachable]));
    }

    #[test]
    fn stale_probe_counts_as_unreachable() {
        let stale = Observation { at: at(6), value: StoreProbe::Reachable(SchemaCompatibility::Compatible) };
        let observed = ReplicaObservations { store: Some(stale), ..healthy() };
        assert_eq!(decide(&observed), Readiness::Unready(vec![Reason::StoreUnreachable]));
    }

    #[test]
    fn task_is_late_after_two_intervals() {
        assert_eq!(
            decide(&ReplicaObservations { housekeeping: vec![task(30)], ..healthy() }),
            Readiness::Ready
        );
        assert_eq!(
            decide(&ReplicaObservations { housekeeping: vec![task(31)], ..healthy() }),
            Readiness::Degraded(vec![Reason::HousekeepingLate { name: "replicas" }])
        );
    }

    #[test]
    fn task_that_never_ran_is_late_two_intervals_after_start() {
        let never = Housekeeping { last_run_at: None, last_success_at: None, ..task(0) };
        let fresh_start =
            ReplicaObservations { started_at: at(5), housekeeping: vec![never.clone()], ..healthy() };
        assert_eq!(decide(&fresh_start), Readiness::Ready);
        let long_ago = ReplicaObservations { housekeeping: vec![never], ..healthy() };
        assert_eq!(decide(&long_ago).as_str(), "degraded");
    }

    fn any_observed() -> impl Strategy<Value = ReplicaObservations> {
        let store = prop_oneof![
            Just(StoreProbe::Unreachable),
            Just(StoreProbe::Reachable(SchemaCompatibility::Compatible)),
            Just(StoreProbe::Reachable(SchemaCompatibility::Behind { applied: 1, required: 2 })),
            Just(StoreProbe::Reachable(SchemaCompatibility::TooNew { floor: 3, known: 2 })),
        ];
        let bus = prop_oneof![Just(BusProbe::Unreachable), Just(BusProbe::Reachable)];
        let store = proptest::option::of((0i64..20, store));
        let bus = proptest::option::of((0i64..20, bus));
        (any::<bool>(), store, bus, proptest::collection::vec(0i64..120, 0..3)).prop_map(
            |(draining, store, bus, tasks)| ReplicaObservations {
                started_at: at(3600),
                draining,
                store: store.map(|(age, value)| Observation { at: at(age), value }),
                bus: bus.map(|(age, value)| Observation { at: at(age), value }),
                housekeeping: tasks.into_iter().map(task).collect(),
            },
        )
    }

    proptest! {
        #[test]
        fn replica_serves_only_with_a_fresh_compatible_store_and_no_drain(observed in any_observed()) {
            let is_compatible = observed.store.is_some_and(|o| {
                o.at >= at(5) && o.value == StoreProbe::Reachable(SchemaCompatibility::Compatible)
            });
            let serves = !matches!(decide(&observed), Readiness::Unready(_));
            prop_assert_eq!(serves, is_compatible && !observed.draining);
        }

        #[test]
        fn replica_is_ready_exactly_without_reasons(observed in any_observed()) {
            let readiness = decide(&observed);
            prop_assert_eq!(readiness.reasons().is_empty(), readiness == Readiness::Ready);
        }
    }
}
