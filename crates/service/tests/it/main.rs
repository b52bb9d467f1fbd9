//! Service tests on real engines.

#![allow(clippy::expect_used, reason = "test helpers may panic with a message")]

mod aids;
mod idempotency_keys;
mod journal;
mod outbox;
mod outbox_kills;
mod rates;
mod transparency;
mod webhooks;

use std::time::Duration;

use guildhall_store::{Store, StoreOptions};
use secrecy::SecretString;

fn store(url: SecretString) -> Store {
    let timeout = Duration::from_secs(10);
    let options =
        StoreOptions { url, max_connections: 4, acquire_timeout: timeout, statement_timeout: timeout };
    Store::new(&options).expect("a valid address")
}
