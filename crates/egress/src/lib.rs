//! The one way out: every outbound HTTP or WebSocket call of the server goes through here, past address rules,
//! time-outs and a redirect policy.
//!
//! Empty until something is called from the server.
//!
//! This crate deliberately will not know why a call is made.
