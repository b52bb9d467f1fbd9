use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use super::section::section;

section! {
    /// The front door: one port for everything.
    Http = "http" {
        /// Where the server listens.
        listen: SocketAddr = "\"127.0.0.1:7117\"";
        /// The address under which browsers reach this server, such as `https://guildhall.example.org`; every replica
        /// needs the same. Empty: the address that it listens on.
        public_url: String = "\"\"";
        /// Larger request bodies are refused with `payload-too-large`.
        max_body_bytes: NonZeroUsize = "2097152";
        /// A request that has no answer by then gets `timeout`.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        request_timeout: Duration = "\"10s\"";
        /// A connection that has not sent the head of its request by then is closed.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        header_timeout: Duration = "\"10s\"";
        /// Requests worked on at once; more get `overloaded` and a Retry-After.
        max_concurrent_requests: NonZeroUsize = "1024";
        /// Connections held at once; more get `overloaded` and are closed.
        max_connections: NonZeroUsize = "20000";
        /// Streams that one caller may hold open on one run, session or log, on one replica; more get `rate-limited`.
        max_streams_each: NonZeroUsize = "64";
        /// On shutdown: how long readiness says no before connections are turned away, so that a load
        /// balancer has looked.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        drain_delay: Duration = "\"3s\"";
        /// On shutdown: how long open requests may take to end.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        drain_timeout: Duration = "\"30s\"";
    }
}
