//! Whether a replica should get traffic, decided from what it last saw of its engines and its housekeeping.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::ops::schema::SchemaVerdict;

/// How old an observation may be before it says nothing: three missed probes of a second each, and slack.
const OBSERVATION_FRESH_FOR: SignedDuration = SignedDuration::from_secs(5);

/// How late housekeeping may be before it shows: one whole interval, and at least this for short ones.
const LATE_AFTER_AT_LEAST: SignedDuration = SignedDuration::from_secs(10);

/// What was last seen of something, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation<T> {
    pub at: Timestamp,
    pub seen: T,
}

/// What a probe of PostgreSQL found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreSeen {
    Unreachable,
    Reachable(SchemaVerdict),
}

/// What a probe of NATS found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusSeen {
    Unreachable,
    Reachable,
}

/// What a reconciler says of itself.
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
    /// Returns whether this has not succeeded for so long that someone should look.
    #[must_use]
    pub fn is_late(&self, started_at: Timestamp, now: Timestamp) -> bool {
        let every = SignedDuration::try_from(self.every).unwrap_or(SignedDuration::MAX);
        let patience = every.saturating_add(every.max(LATE_AFTER_AT_LEAST));
        let since = self.last_success_at.unwrap_or(started_at);
        now.duration_since(since) > patience
    }
}

/// Everything that the verdict depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    pub started_at: Timestamp,
    pub draining: bool,
    pub store: Option<Observation<StoreSeen>>,
    pub bus: Option<Observation<BusSeen>>,
    pub housekeeping: Vec<Housekeeping>,
}

/// One cause for a verdict below `Ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Draining,
    StoreUnreachable,
    SchemaBehind { applied: i64, wanted: i64 },
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
            Self::Draining => f.write_str("the server is shutting down and takes no new work"),
            Self::StoreUnreachable => f.write_str("PostgreSQL does not answer"),
            Self::SchemaBehind { applied, wanted } => {
                write!(f, "the database has migration {applied}, this server needs {wanted}")
            }
            Self::SchemaTooNew { floor, known } => {
                write!(f, "the database needs a server that knows migration {floor}, this one knows {known}")
            }
            Self::BusUnreachable => f.write_str("NATS does not answer: updates arrive late, none is lost"),
            Self::HousekeepingLate { name } => write!(f, "housekeeping `{name}` is late"),
        }
    }
}

/// The verdict. A degraded replica serves; an unready one must not get traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    Degraded(Vec<Reason>),
    Unready(Vec<Reason>),
}

impl Readiness {
    /// Decides from what was observed.
    #[must_use]
    pub fn decide(observed: &Observed, now: Timestamp) -> Self {
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

    /// Returns the word that probes and people read.
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

fn store_reason(store: Option<Observation<StoreSeen>>, now: Timestamp) -> Option<Reason> {
    match fresh(store, now) {
        None | Some(StoreSeen::Unreachable) => Some(Reason::StoreUnreachable),
        Some(StoreSeen::Reachable(SchemaVerdict::Fits)) => None,
        Some(StoreSeen::Reachable(SchemaVerdict::Behind { applied, wanted })) => {
            Some(Reason::SchemaBehind { applied, wanted })
        }
        Some(StoreSeen::Reachable(SchemaVerdict::TooNew { floor, known })) => {
            Some(Reason::SchemaTooNew { floor, known })
        }
    }
}

fn bus_reason(bus: Option<Observation<BusSeen>>, now: Timestamp) -> Option<Reason> {
    match fresh(bus, now) {
        None | Some(BusSeen::Unreachable) => Some(Reason::BusUnreachable),
        Some(BusSeen::Reachable) => None,
    }
}

fn late_housekeeping(observed: &Observed, now: Timestamp) -> impl Iterator<Item = Reason> + '_ {
    observed
        .housekeeping
        .iter()
        .filter(move |task| task.is_late(observed.started_at, now))
        .map(|task| Reason::HousekeepingLate { name: task.name })
}

/// Returns what was seen, unless it is too old to rely on: a stuck probe must not look like health.
fn fresh<T>(observation: Option<Observation<T>>, now: Timestamp) -> Option<T> {
    observation.filter(|o| now.duration_since(o.at) <= OBSERVATION_FRESH_FOR).map(|o| o.seen)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn at(seconds_ago: i64) -> Timestamp {
        Timestamp::from_second(NOW - seconds_ago).expect("in range")
    }

    fn healthy() -> Observed {
        Observed {
            started_at: at(3600),
            draining: false,
            store: Some(Observation { at: at(0), seen: StoreSeen::Reachable(SchemaVerdict::Fits) }),
            bus: Some(Observation { at: at(0), seen: BusSeen::Reachable }),
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

    fn decide(observed: &Observed) -> Readiness {
        Readiness::decide(observed, at(0))
    }

    #[test]
    fn all_well_is_ready() {
        assert_eq!(decide(&healthy()), Readiness::Ready);
    }

    #[test]
    fn without_nats_the_replica_serves_degraded() {
        let observed = Observed { bus: None, ..healthy() };
        assert_eq!(decide(&observed), Readiness::Degraded(vec![Reason::BusUnreachable]));
    }

    #[test]
    fn a_probe_that_stopped_reporting_counts_as_unreachable() {
        let stale = Observation { at: at(6), seen: StoreSeen::Reachable(SchemaVerdict::Fits) };
        let observed = Observed { store: Some(stale), ..healthy() };
        assert_eq!(decide(&observed), Readiness::Unready(vec![Reason::StoreUnreachable]));
    }

    #[test]
    fn housekeeping_is_late_after_a_second_missed_interval() {
        assert_eq!(decide(&Observed { housekeeping: vec![task(30)], ..healthy() }), Readiness::Ready);
        assert_eq!(
            decide(&Observed { housekeeping: vec![task(31)], ..healthy() }),
            Readiness::Degraded(vec![Reason::HousekeepingLate { name: "replicas" }])
        );
    }

    #[test]
    fn housekeeping_that_never_ran_is_late_once_it_had_time_to() {
        let never = Housekeeping { last_run_at: None, last_success_at: None, ..task(0) };
        let fresh_start = Observed { started_at: at(5), housekeeping: vec![never.clone()], ..healthy() };
        assert_eq!(decide(&fresh_start), Readiness::Ready);
        let long_ago = Observed { housekeeping: vec![never], ..healthy() };
        assert_eq!(decide(&long_ago).as_str(), "degraded");
    }

    fn any_observed() -> impl Strategy<Value = Observed> {
        let store = prop_oneof![
            Just(StoreSeen::Unreachable),
            Just(StoreSeen::Reachable(SchemaVerdict::Fits)),
            Just(StoreSeen::Reachable(SchemaVerdict::Behind { applied: 1, wanted: 2 })),
            Just(StoreSeen::Reachable(SchemaVerdict::TooNew { floor: 3, known: 2 })),
        ];
        let bus = prop_oneof![Just(BusSeen::Unreachable), Just(BusSeen::Reachable)];
        let store = proptest::option::of((0i64..20, store));
        let bus = proptest::option::of((0i64..20, bus));
        (any::<bool>(), store, bus, proptest::collection::vec(0i64..120, 0..3)).prop_map(
            |(draining, store, bus, tasks)| Observed {
                started_at: at(3600),
                draining,
                store: store.map(|(age, seen)| Observation { at: at(age), seen }),
                bus: bus.map(|(age, seen)| Observation { at: at(age), seen }),
                housekeeping: tasks.into_iter().map(task).collect(),
            },
        )
    }

    proptest! {
        #[test]
        fn traffic_flows_only_with_a_fresh_fitting_store_and_no_drain(observed in any_observed()) {
            let fits = observed.store.is_some_and(|o| {
                o.at >= at(5) && o.seen == StoreSeen::Reachable(SchemaVerdict::Fits)
            });
            let serves = !matches!(decide(&observed), Readiness::Unready(_));
            prop_assert_eq!(serves, fits && !observed.draining);
        }

        #[test]
        fn the_verdict_is_ready_exactly_when_there_is_no_reason(observed in any_observed()) {
            let verdict = decide(&observed);
            prop_assert_eq!(verdict.reasons().is_empty(), verdict == Readiness::Ready);
        }
    }
}
