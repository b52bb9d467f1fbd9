//! Use cases, one module a resource, and the reconcilers that keep the world in order.
//!
//! A service loads facts, lets `domain` decide, and writes the outcome in one transaction.
//!
//! This crate deliberately knows no transport (no status code, no header) and no SQL.

pub mod error;
pub mod health;
pub mod journal;
pub mod reconcile;

pub use error::ServiceError;
