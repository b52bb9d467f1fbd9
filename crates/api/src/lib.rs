//! The HTTP API: REST and server-sent events, with and without TLS.
//!
//! A handler parses the request, makes one service call and maps the result. This is the only crate that uses axum. It
//! contains no SQL and no business rules.

mod edge;
mod http;
mod rpc;

pub use edge::access_rules::AccessRules;
pub use edge::app::{App, Limits, Parts};
pub use edge::denials::DenialLog;
pub use edge::serve::{DrainOutcome, Listeners, serve};
pub use edge::stream::{StreamLimits, Streams};
pub use edge::tls::{CertificateError, ServerCertificate, TlsListener};
pub use edge::waiting_requests::WaitingRequests;
pub use http::openapi;
pub use rpc::{SocketLimits, Sockets};
