//! Wire types of the HTTP API and its streams, with their schemas.
//!
//! A change here affects every client. Bodies are `camelCase`; times are RFC 3339 in UTC.
//!
//! This crate does not depend on the server or the store, so that clients can use it.

pub mod agui;
pub mod base64_bytes;
pub mod manifest;
pub mod problem;
pub mod rest;
pub mod rpc;
#[cfg(test)]
mod schema_document;
pub mod stream;
mod tagged_union;
pub mod tool_calls;
