//! The vocabulary and the rules of Guildhall, pure.
//!
//! Everything here is a value or a decision: no clock is read, no engine is called, nothing waits.
//! Services load facts, pass them to a function of this crate, and carry out what it returns.
//!
//! One module per feature group, the same groups as in `protocol::rest`, `service` and `api::http`.
//! This crate does not know how anything is stored, sent or displayed.

pub mod access;
pub mod failure;
pub mod ids;
pub mod journal;
pub mod ops;
pub mod profiles;
pub mod redact;
pub mod runners;
pub mod runs;
pub mod sessions;

pub use failure::{Failure, FailureKind, Retry};
