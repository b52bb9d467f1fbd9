//! Types and business rules of Guildhall, without I/O.
//!
//! Everything here is a value or a pure decision: no clock, no database, no async. Services load data, pass it to a
//! function of this crate, and execute the result.
//!
//! One module per feature group, the same groups as in `protocol::rest`, `service` and `api::http`. This crate does not
//! know how data is stored, sent or displayed.

pub mod access;
pub mod agents;
pub mod approvals;
pub mod failure;
pub mod front;
pub mod identity;
pub mod ids;
pub mod journal;
pub mod messages;
pub mod named_enum;
pub mod ops;
pub mod profiles;
pub mod redact;
pub mod relations;
pub mod retention;
pub mod runners;
pub mod runs;
pub mod sessions;
pub mod webhooks;

pub use failure::{Failure, FailureKind, Retry};
