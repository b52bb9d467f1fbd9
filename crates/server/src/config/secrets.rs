use std::time::Duration;

use super::section::section;

section! {
    /// Credentials of provider profiles. They are stored in files, never in the database.
    Secrets = "secrets" {
        /// Folder for the credentials, accessible only to this server's user. Replicas on several machines need a
        /// shared folder. Empty: the server stores no credentials, and runners bring their own. `guildhall dev` uses
        /// its state folder.
        folder: String = "\"\"";
        /// Time limit of a profile validation, including the wait for a runner.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        validate_within: Duration = "\"2m\"";
        /// Interval of the check for finished validations.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        settle_every: Duration = "\"1s\"";
    }
}
