use std::time::Duration;

use super::section::section;

section! {
    /// Sessions: how long the storage is kept in which their agents keep their threads. Workspaces are not touched.
    Sessions = "sessions" {
        /// Storage goes this long after its session was last used, unless the session was made with another time.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        expire_after: Duration = "\"720h\"";
        /// How often storage is looked for that has had its time.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        collect_every: Duration = "\"5m\"";
        /// The state folder of the runners of this machine (`guildhall-runner --state`): what is given up is removed in it.
        /// Empty for that of the runners that this server starts; where it starts none, whoever runs them removes it.
        runner_state: String = "\"\"";
    }
}
