//! Tests of the store on a real PostgreSQL.

#![allow(clippy::expect_used, reason = "a failing helper fails its test")]

mod fixtures;
mod flat_backlog;
mod flat_reads;
mod folds;
mod journal;
mod journal_seals;
mod message_groups;
mod message_partitions;
mod message_reads;
mod rate_windows;
mod relation_checks;
mod replicas;
mod schema_state;
mod session_list;
mod session_runs;
mod silent_connections;
mod stopped_writer;

use std::time::Duration;

use guildhall_store::{Store, StoreOptions};
use secrecy::SecretString;

fn store(url: SecretString) -> Store {
    store_with_timeout(url, Duration::from_secs(1))
}

/// Returns a store with longer timeouts, for tests with many concurrent callers.
fn store_with_timeout(url: SecretString, timeout: Duration) -> Store {
    let options =
        StoreOptions { url, max_connections: 4, acquire_timeout: timeout, statement_timeout: timeout };
    Store::new(&options).expect("a valid address")
}
