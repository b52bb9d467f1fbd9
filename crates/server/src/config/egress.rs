use std::num::NonZeroUsize;
use std::time::Duration;

use super::section::section;

section! {
    /// The one way out: calls of the server to others, such as an identity provider. Only public addresses are called.
    Egress = "egress" {
        /// Ranges beyond the public internet that may be called all the same, such as `10.1.0.0/16`. `guildhall dev`
        /// opens this machine itself.
        #[serde(deserialize_with = "super::list::list")]
        allow: Vec<String> = "[]";
        /// From a name to a connection, TLS included.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        connect_timeout: Duration = "\"3s\"";
        /// From the first step to the last byte of an answer; below `http.request_timeout`, so that a caller is told.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        request_timeout: Duration = "\"5s\"";
        /// Larger answers are refused.
        max_response_bytes: NonZeroUsize = "1048576";
    }
}
