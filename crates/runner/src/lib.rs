//! Claims a run and drives an agent backend in a workspace, as an untrusted client of the API.
//!
//! This crate deliberately knows neither the database nor the bus.

pub mod backend;
pub mod child;
pub mod guard;
mod hold;
pub mod pump;
pub mod serve;
pub mod spool;
pub mod storage;
pub mod workspace;
