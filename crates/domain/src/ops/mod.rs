//! Server operation: readiness, client addresses, rate limits, outbox, capabilities, schema version and doctor checks.

pub mod capability;
pub mod checks;
pub mod client_address;
pub mod outbox;
pub mod rate;
pub mod readiness;
pub mod replica;
pub mod sampling;
pub mod schema;
