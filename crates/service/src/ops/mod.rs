//! Operating the server: health, rate limits, the outbox and housekeeping.

pub mod health;
pub mod idempotency_keys;
pub mod outbox;
pub mod rate_windows;
pub mod rates;
pub mod replicas;

use std::sync::Arc;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub health: Arc<health::Health>,
    pub rates: rates::Rates,
}
