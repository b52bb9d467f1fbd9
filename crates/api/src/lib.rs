//! The front door: HTTP now, JSON-RPC and streams later, on one port.
//!
//! A handler parses, makes one call, and maps the answer. This is the only crate that names axum.
//!
//! This crate deliberately knows no SQL and makes no decision of its own.

mod access;
mod app;
mod caller;
mod cookies;
mod error;
mod http;
mod input;
mod layers;
mod misfit;
mod rates;
mod refusals;
mod serve;
mod stream;

pub use access::Access;
pub use app::{App, Limits, Parts};
pub use http::openapi;
pub use refusals::Refusals;
pub use serve::{Drained, serve};
pub use stream::{StreamLimits, Streams};
