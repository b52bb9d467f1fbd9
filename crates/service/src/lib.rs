//! Use cases, one module per feature group and resource.
//!
//! A service loads facts, lets `domain` decide, and writes the outcome in one transaction.
//!
//! This crate knows no transport (no status code, no header) and no SQL.

pub mod access;
pub mod agents;
pub mod approvals;
pub mod deps;
pub mod error;
mod failures;
pub mod front;
pub mod idempotency;
pub mod identity;
pub mod journal;
pub mod messages;
pub mod ops;
pub mod profiles;
pub mod relations;
pub mod retention;
pub mod run_steps;
pub mod runners;
pub mod runs;
pub mod sessions;
pub mod webhooks;

pub use deps::Deps;
pub use error::ServiceError;
