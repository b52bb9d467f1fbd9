//! The storage of a session as it is read, and its lifetime.

use std::time::Duration;

use jiff::Timestamp;

use super::StorageKind;
use crate::ids::RunId;

/// Metadata of a session's storage, never its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStorage {
    pub kind: StorageKind,
    pub size_bytes: Option<i64>,
    pub files_count: Option<i64>,
    pub sha256: Option<String>,
    pub updated_at: Option<Timestamp>,
    pub evicted_at: Option<Timestamp>,
    /// When the owner of the storage reported it as removed.
    pub removed_at: Option<Timestamp>,
    pub active_run: Option<RunId>,
}

/// The summary that a runner reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageSummary<'a> {
    pub size_bytes: i64,
    pub files_count: i64,
    pub sha256: &'a str,
}

/// The longest lifetime that a client can request for the storage of a session.
pub const MAX_LIFETIME: Duration = Duration::from_secs(365 * 24 * 3600);

/// A lifetime is outside its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 1 millisecond to 365 days")]
pub struct InvalidLifetime;

/// Checks the requested lifetime of a session's storage.
pub fn lifetime(milliseconds: u64) -> Result<Duration, InvalidLifetime> {
    let requested = Duration::from_millis(milliseconds);
    if requested.is_zero() || requested > MAX_LIFETIME { Err(InvalidLifetime) } else { Ok(requested) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lifetime_is_1_ms_to_365_days() {
        let max = 365 * 24 * 3600 * 1000;
        assert_eq!(lifetime(0), Err(InvalidLifetime));
        assert_eq!(lifetime(1), Ok(Duration::from_millis(1)));
        assert_eq!(lifetime(max), Ok(MAX_LIFETIME));
        assert_eq!(lifetime(max + 1), Err(InvalidLifetime));
    }

    proptest! {
        #[test]
        fn lifetime_is_accepted_only_within_the_limits(milliseconds in any::<u64>()) {
            let is_within = (1..=31_536_000_000).contains(&milliseconds);
            prop_assert_eq!(lifetime(milliseconds).is_ok(), is_within);
        }
    }
}
