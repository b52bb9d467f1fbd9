//! Claims a run and drives an agent backend in a workspace, as an untrusted client of the API.
//!
//! Empty until runs exist.
//!
//! This crate deliberately will know neither the database nor the bus.
