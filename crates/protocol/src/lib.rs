//! The wire: what goes over HTTP, WebSocket and streams, as types with their schemas.
//!
//! A change here is a change for every client. Bodies are `camelCase`; times are RFC 3339 in UTC.
//!
//! This crate deliberately does not know how anything is served or stored: a client uses it without a server.

pub mod problem;
pub mod rest;
pub mod stream;
