//! The address of the client of a request: the peer of the connection, or what a trusted proxy reports.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use guildhall_domain::approvals::voter::ClientConnection;
use guildhall_domain::ops::client_address::TrustedProxies;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of the client. Set for every request when it is received; rate limits and the audit log use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl ClientAddress {
    /// Determines the address. Only `X-Forwarded-For` is read: `Forwarded` and others are ignored, so that a proxy
    /// needs to clean one header.
    pub(crate) fn new(peer: IpAddr, headers: &HeaderMap, proxies: &TrustedProxies) -> Self {
        let values = headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default());
        Self(proxies.client_address(peer, values))
    }
}

/// Headers that a proxy adds. A request with one of them did not come directly from its peer.
const PROXY_HEADERS: [&str; 5] = [FORWARDED_FOR, "forwarded", "via", "x-real-ip", "x-forwarded-host"];

/// Whether a request comes from this machine itself, without a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirectConnection(pub(crate) ClientConnection);

impl DirectConnection {
    pub(crate) fn new(peer: IpAddr, headers: &HeaderMap) -> Self {
        let is_proxied = PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
        Self(if peer.to_canonical().is_loopback() && !is_proxied {
            ClientConnection::DirectLoopback
        } else {
            ClientConnection::Other
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for DirectConnection {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().copied().unwrap_or(Self(ClientConnection::Other)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // Requests without an address are counted together.
        let found = parts.extensions.get::<Self>().copied();
        Ok(found.unwrap_or(Self(Ipv4Addr::UNSPECIFIED.into())))
    }
}
