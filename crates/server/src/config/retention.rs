use std::time::Duration;

use super::section::section;

section! {
    /// What is erased, and when. How long a tenant keeps its history is set with `guildhall retention set`.
    Retention = "retention" {
        /// How long ended runner jobs, enrolments of started runners, unused runners and ended logins are kept.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        technical_after: Duration = "\"168h\"";
        /// Interval of the check.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        check_every: Duration = "\"10m\"";
    }
}
