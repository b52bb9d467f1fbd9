//! The store on a real PostgreSQL.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

mod folds;
mod journal;
mod journal_seals;
mod made;
mod rate_windows;
mod replicas;
mod schema_state;
mod stopped_writer;

use std::time::Duration;

use guildhall_store::{Store, StoreOptions};
use secrecy::SecretString;

fn store(url: SecretString) -> Store {
    store_within(url, Duration::from_secs(1))
}

/// A store that waits longer: where many ask at once, the last of them waits for all.
fn store_within(url: SecretString, limit: Duration) -> Store {
    let options = StoreOptions { url, max_connections: 4, acquire_timeout: limit, statement_timeout: limit };
    Store::new(&options).expect("a valid address")
}
