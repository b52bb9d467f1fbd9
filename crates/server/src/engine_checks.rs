//! The checks of PostgreSQL and NATS that `guildhall doctor` runs one at a time. A server start depends on the same.

use std::time::Duration;

use guildhall_bus::BusOptions;
pub use guildhall_bus::diagnostics::{NatsCheck, NatsCheckError};
use guildhall_domain::ops::schema::{SchemaCompatibility, SchemaState};
use guildhall_runtime::Clock;
pub use guildhall_store::diagnostics::{PostgresCheck, PostgresCheckError};
use guildhall_store::{Store, StoreError};
use jiff::SignedDuration;

use crate::Config;

/// The oldest supported PostgreSQL, as `server_version_num`.
pub const MIN_POSTGRES_VERSION: i32 = 150_000;

/// The oldest supported NATS, as major and minor version.
pub const MIN_NATS_VERSION: (u32, u32) = (2, 11);

/// Connects once to the configured NATS.
pub async fn connect_nats(config: &Config, within: Duration) -> Result<NatsCheck, NatsCheckError> {
    let options =
        BusOptions { url: config.nats.url.clone(), subject_prefix: config.nats.subject_prefix.clone() };
    NatsCheck::connect(&options, within).await
}

/// Returns the schema state of a database and whether this binary can serve on it.
pub async fn check_schema(
    postgres: &mut PostgresCheck,
) -> Result<(SchemaState, SchemaCompatibility), StoreError> {
    let state = postgres.schema().await?;
    Ok((state, state.compatibility(Store::known_migration())))
}

/// Returns how far PostgreSQL's clock is ahead of this machine's. The duration of the query is not counted.
pub async fn clock_offset(postgres: &mut PostgresCheck) -> Result<SignedDuration, StoreError> {
    let clock = Clock::system();
    let before = clock.now();
    let theirs = postgres.info().await?.now;
    Ok(offset(before, theirs, clock.now()))
}

/// Returns the offset of a remote clock that was read between two readings of the local one.
fn offset(before: jiff::Timestamp, theirs: jiff::Timestamp, after: jiff::Timestamp) -> SignedDuration {
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
    fn clock_offset_ignores_the_duration_of_the_query() {
        let at = |second| jiff::Timestamp::from_second(second).expect("in range");
        assert_eq!(offset(at(10), at(11), at(12)), SignedDuration::ZERO);
        assert_eq!(offset(at(10), at(15), at(12)), SignedDuration::from_secs(3));
        assert_eq!(offset(at(10), at(4), at(12)), SignedDuration::from_secs(-6));
    }
}
