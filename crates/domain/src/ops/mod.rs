//! Operating the server: health, rate limits, the outbox, capabilities and the schema version.

pub mod capability;
pub mod checkup;
pub mod outbox;
pub mod rate;
pub mod readiness;
pub mod sampling;
pub mod schema;
