//! Server operation: readiness, rate limits, outbox, capabilities, schema version and doctor checks.

pub mod capability;
pub mod checks;
pub mod outbox;
pub mod rate;
pub mod readiness;
pub mod replica;
pub mod sampling;
pub mod schema;
