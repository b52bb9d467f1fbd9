//! When a signed call was signed.

use jiff::Timestamp;

/// How far the time of a signature may be from the time of the server, in seconds. A call that somebody has recorded is of no use
/// after that.
pub const CALL_SIGNATURE_WINDOW_SECS: u64 = 120;

/// Returns whether a call was signed at about this time. `signed_at` is in seconds since 1970, as clients write it.
#[must_use]
pub fn is_signed_now(signed_at: i64, now: Timestamp) -> bool {
    now.as_second().abs_diff(signed_at) <= CALL_SIGNATURE_WINDOW_SECS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_ends_two_minutes_before_and_after() {
        let now = Timestamp::new(1_700_000_000, 900_000_000).expect("a time");
        for (signed_at, expected) in [
            (1_700_000_000, true),
            (1_700_000_000 - 120, true),
            (1_700_000_000 - 121, false),
            (1_700_000_000 + 120, true),
            (1_700_000_000 + 121, false),
            (0, false),
            (i64::MAX, false),
            (i64::MIN, false),
        ] {
            assert_eq!(is_signed_now(signed_at, now), expected, "{signed_at}");
        }
    }
}
