use std::time::Duration;

use super::section::section;

section! {
    /// Intervals of the background tasks. /health/readiness shows the last and next run of each.
    Housekeeping = "housekeeping" {
        /// Heartbeat of this replica. Replicas without a heartbeat for four intervals are removed from the list.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        replicas_every: Duration = "\"15s\"";
        /// Adds new audit log entries to the hash chains.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        audit_seal_every: Duration = "\"2s\"";
        /// Deletes the counters of rate limit windows that are over.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        rate_windows_every: Duration = "\"30s\"";
    }
}
