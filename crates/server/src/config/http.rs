use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use guildhall_egress::IpNet;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::section::section;

fn optional_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|_| D::Error::custom("expected an address and a port, such as 0.0.0.0:443"))
}

section! {
    /// The HTTP server. API, streams, metrics and health checks share its ports.
    Http = "http" {
        /// Address and port to listen on.
        listen: SocketAddr = "\"127.0.0.1:7117\"";
        /// Address and port for TLS, such as `0.0.0.0:443`, in addition to `http.listen`, which stays without TLS. Needs
        /// the two files below, and `http.public_url` unless it is a loopback address. Empty: no TLS.
        #[serde(deserialize_with = "optional_address")]
        tls_listen: Option<SocketAddr> = "\"\"";
        /// File with the certificate for TLS in PEM, followed by its chain. Read again when it changes.
        tls_certificate_file: String = "\"\"";
        /// File with the private key of that certificate in PEM. No other user may read it. Read again when it changes.
        tls_key_file: String = "\"\"";
        /// Public URL of this server for browsers, such as `https://guildhall.example.org`. Use the same on every
        /// replica. Empty: the listen address.
        public_url: String = "\"\"";
        /// Networks of the proxies in front of this server, such as `10.1.0.0/16`. Their `X-Forwarded-For` header is
        /// trusted: the client of a request is the rightmost address that is not in these networks. Empty: the address
        /// of the connection. Each proxy must append to the header or replace it.
        #[serde(deserialize_with = "super::networks::networks")]
        trusted_proxies: Vec<IpNet> = "[]";
        /// Maximum size of a request body in bytes. Larger bodies get `payload-too-large`.
        max_body_bytes: NonZeroUsize = "2097152";
        /// Time limit of a request. Requests that take longer get `timeout`.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        request_timeout: Duration = "\"10s\"";
        /// Time limit for the TLS handshake, and then for receiving the request headers. Slower connections are closed.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        header_timeout: Duration = "\"10s\"";
        /// Maximum number of concurrent requests, without those that wait. Further requests get `overloaded` and a
        /// Retry-After header.
        max_concurrent_requests: NonZeroUsize = "1024";
        /// Maximum number of open connections. Further connections get `overloaded` and are closed. There can be as many
        /// streams and waiting requests.
        max_connections: NonZeroUsize = "20000";
        /// Maximum number of open streams of one caller on one run, session or log, per replica. Further streams get
        /// `rate-limited`.
        max_streams_each: NonZeroUsize = "64";
        /// How long a stream stays open while PostgreSQL does not respond, so that the permissions of its caller cannot be
        /// checked. Nothing is sent on permissions that are older than a second.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        stream_check_timeout: Duration = "\"30s\"";
        /// On shutdown: how long the server reports not ready before it stops accepting connections. Set it longer than
        /// the probe interval of the load balancer.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        drain_delay: Duration = "\"3s\"";
        /// On shutdown: how long the server waits for open requests.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        drain_timeout: Duration = "\"30s\"";
    }
}
