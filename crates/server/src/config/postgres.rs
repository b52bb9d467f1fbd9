use std::num::NonZeroU32;
use std::time::Duration;

use secrecy::SecretString;

use super::section::section;

section! {
    /// PostgreSQL 15 or newer. It stores all data.
    Postgres = "postgres" {
        /// Connection URL. It contains a password: set it in the environment rather than in a file.
        url: SecretString = "\"postgres://guildhall@127.0.0.1:5432/guildhall\"";
        /// Connection URL of the role that owns the tables, for migrations, erasure and partitions. The role of `url`
        /// can then only insert and read audit entries and events. Set it on every replica. Empty: `url` is used for
        /// everything, and its role can change the audit log. docs/guides/audit.md describes the change.
        owner_url: SecretString = "\"\"";
        /// Maximum number of connections of this replica. The total of all replicas must stay below the limit of
        /// PostgreSQL.
        max_connections: NonZeroU32 = "20";
        /// How long a request waits for a connection. After that it gets `infra-failed`.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        acquire_timeout: Duration = "\"3s\"";
        /// Time limit of a statement.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        statement_timeout: Duration = "\"8s\"";
        /// Time limit of the migrations at start, including the wait for another replica that migrates.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        migrate_within: Duration = "\"10m\"";
    }
}
