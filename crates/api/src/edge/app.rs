//! The state that handlers share.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::ops::capability::Toggles;
use guildhall_domain::ops::client_address::TrustedProxies;
use guildhall_runtime::Clock;
use guildhall_runtime::telemetry::metrics::Metrics;
use guildhall_service::{
    access, agents, approvals, front, identity, messages, ops, profiles, relations, retention, runners, runs,
    sessions, webhooks,
};
use tokio_util::sync::CancellationToken;

use super::access_rules::AccessRules;
use super::denials::DenialLog;
use super::stream::Streams;
use super::waiting_requests::WaitingRequests;
use crate::rpc::Sockets;

/// The application state. Cloned several times per request, hence behind one pointer.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

impl App {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// The groups of use cases, and the settings of the HTTP edge.
#[derive(Debug)]
pub struct Parts {
    pub access: access::Group,
    pub agents: agents::Group,
    pub approvals: approvals::Group,
    pub front: front::Group,
    pub identity: identity::Group,
    pub messages: messages::Group,
    pub ops: ops::Group,
    pub profiles: profiles::Group,
    pub relations: relations::Group,
    pub runners: runners::Group,
    pub runs: runs::Group,
    pub sessions: sessions::Group,
    pub webhooks: webhooks::Group,
    pub retention: retention::Group,
    pub access_rules: AccessRules,
    pub clock: Clock,
    pub denials: DenialLog,
    /// The URL of the socket, where the server is an issuer of AIDs.
    pub gateway_url: Option<String>,
    pub limits: Limits,
    pub metrics: Metrics,
    pub sockets: Sockets,
    pub streams: Streams,
    pub waiting_requests: WaitingRequests,
    /// Proxies that report the addresses of clients.
    pub trusted_proxies: TrustedProxies,
    /// Cancelled when the server stops accepting: long polls end, so that clients continue at another replica.
    pub closing: CancellationToken,
}

impl Parts {
    /// Returns the settings that capability tags depend on.
    #[must_use]
    pub fn toggles(&self) -> Toggles {
        Toggles {
            require_auth: self.access_rules.require_auth,
            allow_origin: !self.access_rules.origins.is_empty(),
            rate_limit: self.ops.rates.policy().limits_anything(),
        }
    }
}

/// The limits of the HTTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The size of a request body.
    pub body_bytes: usize,
    /// The time until a response must start.
    pub request_timeout: Duration,
    /// The size of an uploaded attachment, and the time that it may take.
    pub attachment_bytes: usize,
    pub attachment_timeout: Duration,
    /// Concurrent requests; more fail with 503.
    pub concurrent_requests: usize,
    /// Open connections; more fail with 503.
    pub connections: usize,
    /// The time for the TLS handshake, and then to receive the request headers.
    pub header_timeout: Duration,
}
