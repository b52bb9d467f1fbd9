use std::num::NonZeroU32;
use std::time::Duration;

use secrecy::SecretString;

use super::section::section;

section! {
    /// PostgreSQL 15 or newer: every fact.
    Postgres = "postgres" {
        /// Its address. Holds a password: prefer the environment to a file.
        url: SecretString = "\"postgres://guildhall@127.0.0.1:5432/guildhall\"";
        /// Connections of this replica; all replicas together must stay below PostgreSQL's own limit.
        max_connections: NonZeroU32 = "20";
        /// How long a request waits for a connection before it gets `infra-failed`.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        acquire_timeout: Duration = "\"3s\"";
        /// How long one statement may take.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        statement_timeout: Duration = "\"8s\"";
        /// How long a start waits for the migrations, another replica's included, before it gives up.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        migrate_within: Duration = "\"10m\"";
    }
}
