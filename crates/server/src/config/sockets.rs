use std::num::NonZeroUsize;
use std::time::Duration;

use super::section::section;

section! {
    /// The socket at `/aun`, for clients of AUN. Limits are per replica.
    Sockets = "sockets" {
        /// Maximum number of open connections. Further ones get 503.
        max_connections: NonZeroUsize = "50000";
        /// Maximum number of connections that have not authenticated yet. Further ones get 503.
        max_unauthenticated: NonZeroUsize = "2000";
        /// Maximum number of connections of one address, or of one /64 network of IPv6. Further ones get
        /// `rate-limited`. Behind a proxy, set `http.trusted_proxies`.
        max_per_address: NonZeroUsize = "1000";
        /// Maximum number of connections of one address that have not authenticated yet.
        max_unauthenticated_per_address: NonZeroUsize = "200";
        /// Maximum number of connections of one AID, or of one user.
        max_per_client: NonZeroUsize = "100";
        /// How long a connection may stay open without `auth.connect`.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        auth_timeout: Duration = "\"10s\"";
        /// How long a connection may be silent before the server sends a ping.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        ping_after: Duration = "\"60s\"";
        /// How long a connection may be silent before it is closed.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        idle_timeout: Duration = "\"90s\"";
        /// How long frames may wait for a client that does not read them. Then it is disconnected.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        write_timeout: Duration = "\"30s\"";
    }
}
