//! Arithmetic on timestamps.

use jiff::{SignedDuration, Timestamp};

/// Adds a duration; saturates at the end of time.
pub(crate) fn saturating_add(at: Timestamp, time: SignedDuration) -> Timestamp {
    at.checked_add(time).unwrap_or(Timestamp::MAX)
}
