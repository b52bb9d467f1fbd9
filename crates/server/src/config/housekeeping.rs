use std::time::Duration;

use super::section::section;

section! {
    /// How often the background tasks come round. Each shows its last and next run in /health/readiness.
    Housekeeping = "housekeeping" {
        /// Says that this replica lives, and forgets those that have been silent four times as long.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        replicas_every: Duration = "\"15s\"";
        /// Seals new entries of the audit logs into their hash chains.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        audit_seal_every: Duration = "\"2s\"";
        /// Forgets how many requests were counted in windows that have ended.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        rate_windows_every: Duration = "\"30s\"";
    }
}
