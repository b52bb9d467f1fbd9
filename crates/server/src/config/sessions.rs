use std::time::Duration;

use super::section::section;

section! {
    /// Retention of session storage, where agents keep their threads. Workspaces are never deleted.
    Sessions = "sessions" {
        /// Storage is evicted this long after the last use of its session. A session can be created with another time.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        expire_after: Duration = "\"720h\"";
        /// Interval of the check for expired storage.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        collect_every: Duration = "\"5m\"";
        /// State folder of the runners on this machine (`guildhall-runner --state`), where evicted storage is deleted.
        /// Empty: the folder of the runners that this server starts. If it starts none, delete evicted storage
        /// yourself.
        runner_state: String = "\"\"";
    }
}
