//! PostgreSQL: every fact of Guildhall.
//!
//! SQL stands in `queries/<table>/<verb>.sql`, one module a table; migrations in `migrations/`.
//! This is the only crate that names sqlx.
//!
//! This crate deliberately makes no decision: it reads and writes what it is told.

mod connect;
mod error;
pub mod handoffs;
pub mod idempotency_keys;
pub mod invitations;
pub mod journal;
pub mod journal_seals;
pub mod login_methods;
pub mod logins;
pub mod memberships;
mod migrate;
pub mod oidc_flows;
pub mod passwords;
pub mod principals;
pub mod replicas;
pub mod schema_state;
pub mod service_keys;
pub mod signing_keys;
pub mod tenants;
mod tx;

pub use connect::{Store, StoreOptions};
pub use error::StoreError;
pub use migrate::MigrateError;
pub use tx::Tx;
