use guildhall_domain::ops::rate::{ByteRate, Rate};

use super::section::section;

section! {
    /// Rate limits, counted over all replicas. A rate is a number of requests per window, such as `30/60s`; empty means
    /// no limit. Further requests get `rate-limited` and a Retry-After header.
    Limits = "limits" {
        /// Requests of all sign-in routes (passwords, identity provider, token refresh) per client IP address; an IPv6 /64
        /// network counts as one address. Set `http.trusted_proxies` behind a proxy: without it, all clients share the
        /// address of the proxy.
        #[serde(deserialize_with = "super::rate::rate")]
        sign_in: Option<Rate> = "\"300/60s\"";
        /// Sign-in attempts with a password per user name, from all addresses together.
        #[serde(deserialize_with = "super::rate::rate")]
        account: Option<Rate> = "\"30/60s\"";
        /// Requests that change something, per principal. All tokens of a principal share the limit.
        #[serde(deserialize_with = "super::rate::rate")]
        mutation: Option<Rate> = "\"\"";
        /// Read requests, per principal. Opening a stream counts as one request; its events do not count.
        #[serde(deserialize_with = "super::rate::rate")]
        read: Option<Rate> = "\"\"";
        /// Agent turns, per principal. Not used yet.
        #[serde(deserialize_with = "super::rate::rate")]
        prompt: Option<Rate> = "\"\"";
        /// Bytes of events that the runners of a tenant may send, such as `64GiB/24h` (from midnight UTC). Further events
        /// are refused with `tenant-policy-denied` until the next window; runs can still be ended.
        #[serde(deserialize_with = "super::rate::rate")]
        tenant_events: Option<ByteRate> = "\"64GiB/24h\"";
    }
}
