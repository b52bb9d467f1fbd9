//! What `guildhall doctor` asks of the engines: the same questions that a start depends on, one at a time.

use std::time::Duration;

use guildhall_bus::BusOptions;
pub use guildhall_bus::look::{Look as NatsLook, NoConnection as NoNats};
use guildhall_domain::ops::schema::{SchemaState, SchemaVerdict};
use guildhall_runtime::Clock;
pub use guildhall_store::checkup::{Checkup as PostgresLook, NoConnection as NoPostgres};
use guildhall_store::{Store, StoreError};
use jiff::SignedDuration;

use crate::Config;

/// The oldest PostgreSQL that a server works with, as it numbers itself.
pub const POSTGRES_AT_LEAST: i32 = 150_000;

/// The oldest NATS that a server works with.
pub const NATS_AT_LEAST: (u32, u32) = (2, 11);

/// Connects to the NATS of a configuration, once.
pub async fn nats(config: &Config, within: Duration) -> Result<NatsLook, NoNats> {
    let options =
        BusOptions { url: config.nats.url.clone(), subject_prefix: config.nats.subject_prefix.clone() };
    NatsLook::connect(&options, within).await
}

/// Returns whether this binary may serve on a database, and what the database says.
pub async fn schema(postgres: &mut PostgresLook) -> Result<(SchemaState, SchemaVerdict), StoreError> {
    let state = postgres.schema().await?;
    Ok((state, state.verdict(Store::known_migration())))
}

/// Returns how far PostgreSQL's clock is ahead of this machine's. What the question itself took is in its favour.
pub async fn clock_ahead(postgres: &mut PostgresLook) -> Result<SignedDuration, StoreError> {
    let clock = Clock::system();
    let before = clock.now();
    let theirs = postgres.facts().await?.now;
    Ok(ahead(before, theirs, clock.now()))
}

/// Decides how far a clock is ahead that was read between two looks at ours.
fn ahead(before: jiff::Timestamp, theirs: jiff::Timestamp, after: jiff::Timestamp) -> SignedDuration {
    if theirs > after {
        theirs.duration_since(after)
    } else if theirs < before {
        theirs.duration_since(before)
    } else {
        SignedDuration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_off_by_what_the_question_cannot_explain() {
        let at = |second| jiff::Timestamp::from_second(second).expect("in range");
        assert_eq!(ahead(at(10), at(11), at(12)), SignedDuration::ZERO);
        assert_eq!(ahead(at(10), at(15), at(12)), SignedDuration::from_secs(3));
        assert_eq!(ahead(at(10), at(4), at(12)), SignedDuration::from_secs(-6));
    }
}
