use std::time::Duration;

use super::section::section;

section! {
    /// Credentials of provider profiles. They are kept in files, never in the database.
    Secrets = "secrets" {
        /// The folder that keeps them, for this server's user alone; replicas on several machines need one that they
        /// share. Without it none are kept here and runners bring their own. `guildhall dev` keeps them in its state.
        folder: String = "\"\"";
        /// How long trying a profile may take, a runner's coming included.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        validate_within: Duration = "\"2m\"";
        /// How often outcomes of such trials are looked for.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        settle_every: Duration = "\"1s\"";
    }
}
