//! The Rust client: REST, the socket, the guard that checks tool calls, end-to-end encryption.
//!
//! Empty until there is something to call.
//!
//! This crate deliberately will know no server crate: a client builds without one.
