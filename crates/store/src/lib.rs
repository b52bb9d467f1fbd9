//! PostgreSQL: every fact of Guildhall.
//!
//! SQL stands in `queries/<table>/<verb>.sql`, one module a table; migrations in `migrations/`.
//! This is the only crate that names sqlx.
//!
//! This crate deliberately makes no decision: it reads and writes what it is told.

pub mod checkup;
pub mod commands;
mod connect;
pub mod enrolments;
mod error;
pub mod external_subjects;
pub mod handoffs;
pub mod idempotency_keys;
pub mod invitations;
pub mod journal;
pub mod journal_seals;
pub mod leases;
pub mod login_methods;
pub mod logins;
pub mod memberships;
mod migrate;
pub mod oidc_flows;
pub mod outbox;
pub mod passwords;
pub mod principals;
pub mod profile_validations;
pub mod projects;
pub mod rate_windows;
pub mod replicas;
pub mod runner_jobs;
pub mod runners;
pub mod runs;
pub mod schema_state;
pub mod service_keys;
pub mod session_storage;
pub mod sessions;
pub mod signing_keys;
pub mod tenants;
mod tx;

pub use connect::{Store, StoreOptions};
pub use error::StoreError;
pub use migrate::MigrateError;
pub use tx::Tx;
