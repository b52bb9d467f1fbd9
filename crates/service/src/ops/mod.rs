//! Operating the server: health, rate limits, the outbox and housekeeping.

pub mod health;
pub mod idempotency_keys;
pub mod outbox;
pub mod rate_windows;
pub mod rates;
pub mod replicas;
