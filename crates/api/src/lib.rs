//! The HTTP API: REST and server-sent events on one port.
//!
//! A handler parses, makes one call and maps the answer. This is the only crate that names axum.
//!
//! This crate knows no SQL and makes no decision of its own.

mod edge;
mod http;

pub use edge::access::Access;
pub use edge::app::{App, Limits, Parts};
pub use edge::refusals::Refusals;
pub use edge::serve::{Drained, serve};
pub use edge::stream::{StreamLimits, Streams};
pub use http::openapi;
