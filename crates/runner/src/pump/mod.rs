//! The path of a backend's events to the server: redacted, coalesced, batched, and sent until acknowledged.

mod arguments;
mod bounded_stream;
pub mod coalesce;
pub mod event_pump;
pub mod redact;
pub mod runner_status;

#[cfg(test)]
mod schema_tests;
