//! Use cases, one module a resource, and the reconcilers that keep the world in order.
//!
//! A service loads facts, lets `domain` decide, and writes the outcome in one transaction.
//!
//! This crate deliberately knows no transport (no status code, no header) and no SQL.

pub mod audit;
pub mod auth;
pub mod authority;
pub mod browser;
pub mod commands;
pub mod enrolments;
pub mod error;
pub mod health;
pub mod idempotency;
pub mod invitations;
pub mod journal;
pub mod keys;
mod lately;
pub mod oidc;
pub mod outbox;
pub mod profiles;
pub mod projects;
pub mod rates;
pub mod reconcile;
pub mod runner_jobs;
pub mod runner_tokens;
pub mod runners;
pub mod runs;
pub mod session_storage;
pub mod sessions;
pub mod signing;
pub mod subject_tokens;
pub mod tenants;
pub mod users;

pub use error::ServiceError;
