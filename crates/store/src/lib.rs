//! PostgreSQL access: the only place where Guildhall stores state.
//!
//! Each query is a file, `queries/<table>/<verb>.sql`; there is one module per table. Migrations are in `migrations/`.
//! No other crate depends on sqlx.
//!
//! This crate contains no business rules: it reads and writes what the caller passes in.

pub mod agent_answers;
pub mod agent_inboxes;
pub mod agent_manifests;
pub mod agents;
pub mod aid_certificates;
pub mod aid_issuer;
pub mod aid_logins;
pub mod aid_reservations;
pub mod aids;
mod application_role;
pub mod approval_policies;
pub mod approval_rules;
pub mod approval_votes;
pub mod approvals;
pub mod attachments;
pub mod automations;
pub mod client_runs;
pub mod commands;
mod connect;
pub mod deferred_indexes;
pub mod diagnostics;
pub mod e2ee_prekeys;
pub mod e2ee_signed_prekeys;
pub mod end_user_usage;
pub mod enrolments;
pub mod erased_runs;
mod error;
pub mod external_subjects;
pub mod handoff_confirmations;
pub mod handoffs;
pub mod idempotency_keys;
pub mod inbox_cursors;
pub mod inbox_messages;
pub mod inbox_senders;
pub mod inboxes;
pub mod invitations;
pub mod journal;
pub mod journal_checkpoints;
pub mod journal_seals;
pub mod leases;
pub mod loaded_runs;
pub mod login_methods;
pub mod logins;
pub mod memberships;
mod migrate;
pub mod oidc_flows;
pub mod outbox;
mod partitions;
pub mod passwords;
pub mod principals;
pub mod profile_validations;
pub mod projects;
pub mod rate_windows;
pub mod replicas;
pub mod retention;
pub mod retention_policies;
pub mod ring_messages;
pub mod runner_jobs;
pub mod runners;
pub mod runs;
pub mod schema_state;
pub mod service_keys;
pub mod session_readers;
pub mod session_storage;
pub mod sessions;
pub mod signing_keys;
pub mod tenant_bounds;
pub mod tenants;
pub mod threads;
pub mod transparency_log;
pub mod trust_list;
mod tx;
pub mod unknown_names;
pub mod used_login_nonces;
pub mod webhooks;
pub mod workspace_bundles;
pub mod workspace_diffs;

pub use connect::{Store, StoreOptions};
pub use error::StoreError;
pub use migrate::MigrateError;
pub use tx::Tx;
