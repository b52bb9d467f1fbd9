//! Use cases on real engines.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

mod idempotency_keys;
mod journal;
mod outbox;
mod outbox_kills;
mod rates;

use std::time::Duration;

use guildhall_store::{Store, StoreOptions};
use secrecy::SecretString;

fn store(url: SecretString) -> Store {
    let within = Duration::from_secs(10);
    let options =
        StoreOptions { url, max_connections: 4, acquire_timeout: within, statement_timeout: within };
    Store::new(&options).expect("a valid address")
}
