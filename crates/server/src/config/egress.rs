use std::num::NonZeroUsize;
use std::time::Duration;

use super::section::section;

section! {
    /// Outbound calls of the server, such as to an identity provider and to webhooks. By default, only public addresses are allowed.
    Egress = "egress" {
        /// Additional address ranges that may be called, such as `10.1.0.0/16`. `guildhall dev` adds loopback.
        #[serde(deserialize_with = "super::list::list")]
        allow: Vec<String> = "[]";
        /// Timeout for name resolution, connection and TLS handshake together.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        connect_timeout: Duration = "\"3s\"";
        /// Timeout of a whole call. Keep it below `http.request_timeout`, so that the caller gets a specific error. Receivers of
        /// webhooks have 10 seconds.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        request_timeout: Duration = "\"5s\"";
        /// Maximum size of a response body in bytes. Larger responses are rejected.
        max_response_bytes: NonZeroUsize = "1048576";
    }
}
