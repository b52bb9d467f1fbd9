//! The vocabulary and the rules of Guildhall, pure.
//!
//! Everything here is a value or a decision: no clock is asked, no engine is called, nothing waits.
//! Services load facts, hand them to a function of this crate, and carry out what it returns.
//!
//! This crate deliberately does not know how anything is stored, sent or shown.

pub mod audit_chain;
pub mod caller;
pub mod capability;
pub mod checkup;
pub mod failure;
pub mod follow;
pub mod ids;
pub mod invitation;
pub mod journal;
pub mod lockout;
pub mod outbox;
pub mod principal;
pub mod profile;
pub mod profile_validation;
pub mod rate;
pub mod readiness;
pub mod redact;
pub mod refresh;
pub mod return_path;
pub mod role;
pub mod run;
pub mod run_policy;
pub mod runner;
pub mod runner_job;
pub mod sampling;
pub mod schema;
pub mod session;
pub mod signing;
pub mod subject;

pub use failure::{Failure, FailureKind, Retry};
