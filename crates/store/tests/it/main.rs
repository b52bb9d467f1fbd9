//! The store on a real PostgreSQL.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

mod journal;
mod journal_seals;
mod replicas;
mod schema_state;
mod stopped_writer;

use std::time::Duration;

use guildhall_store::{Store, StoreOptions};
use secrecy::SecretString;

fn store(url: SecretString) -> Store {
    let second = Duration::from_secs(1);
    let options =
        StoreOptions { url, max_connections: 4, acquire_timeout: second, statement_timeout: second };
    Store::new(&options).expect("a valid address")
}
