//! Claims a run and drives an agent backend in a workspace, as an untrusted client of the API.
//!
//! This crate deliberately knows neither the database nor the bus.

pub mod backend;
pub mod child;
pub mod pump;
