use guildhall_domain::ops::rate::Rate;

use super::section::section;

section! {
    /// How often callers may ask, over all replicas together. A rate is so many in so long, such as `30/60s`; empty is no
    /// limit. More get `rate-limited` and a Retry-After.
    Limits = "limits" {
        /// Signing in and refreshing, for each address that connects; an IPv6 network of 64 bits counts as one. Behind a
        /// proxy all clients have its address.
        #[serde(deserialize_with = "super::rate::rate")]
        sign_in: Option<Rate> = "\"\"";
        /// Requests that change something, for each principal: all its tokens share.
        #[serde(deserialize_with = "super::rate::rate")]
        mutation: Option<Rate> = "\"\"";
        /// Requests that look, for each principal. To open a stream is one; what comes over it is none.
        #[serde(deserialize_with = "super::rate::rate")]
        read: Option<Rate> = "\"\"";
        /// Turns of agents, for each principal. There is no such request yet.
        #[serde(deserialize_with = "super::rate::rate")]
        prompt: Option<Rate> = "\"\"";
    }
}
