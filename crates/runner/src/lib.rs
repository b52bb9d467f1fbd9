//! Claims a run and drives an agent backend in a workspace, as an untrusted client of the API.
//!
//! This crate has no access to the database or the message bus.

pub mod backend;
pub mod child;
pub mod credential_file;
mod exit_code;
pub mod forwarder;
pub mod git_proxy;
pub mod guard;
mod lease;
pub mod model_proxy;
pub mod parallel;
pub mod pump;
pub mod run_log;
pub mod sandbox;
pub mod serve;
pub mod spool;
pub mod storage;
pub mod workspace;
