//! Operating the server: health, rate limits, the outbox and housekeeping.

pub mod gauges;
pub mod health;
pub mod idempotency_keys;
pub mod indexes;
pub mod outbox;
pub mod rate_windows;
pub mod rates;
pub mod replicas;

use std::sync::Arc;

use crate::deps::Deps;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub health: Arc<health::Health>,
    pub rates: rates::Rates,
    pub gauges: Arc<gauges::Gauges>,
}

#[must_use]
pub fn open(deps: &Deps, health: Arc<health::Health>) -> Group {
    let gauges = Arc::new(gauges::Gauges::new(deps.store.clone(), Arc::clone(&health)));
    Group { health, rates: deps.rates.clone(), gauges }
}
