//! What the response of a receiver means.

use std::time::Duration;

use jiff::Timestamp;

/// The meaning of a status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverAnswer {
    Accepted,
    /// The endpoint does not exist any more and wants no further events.
    Gone,
    /// Anything else. A redirect is not followed: only the tenant changes where events go.
    Failed,
}

impl ReceiverAnswer {
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Accepted,
            410 => Self::Gone,
            _ => Self::Failed,
        }
    }
}

/// Reads `Retry-After`: a number of seconds, or a date. None for anything else.
#[must_use]
pub fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has ask for longer than anybody waits.
        return Some(Duration::from_secs(header.parse().unwrap_or(u64::MAX)));
    }
    let at = jiff::fmt::rfc2822::parse(header).ok()?.timestamp();
    // A date in the past asks for no pause.
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_is_read_from_seconds_and_from_dates() {
        let now: Timestamp = "2026-11-17T08:00:00Z".parse().expect("a time");
        for (header, seconds) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Tue, 17 Nov 2026 08:01:30 GMT", Some(90)),
            ("Tue, 17 Nov 2026 07:00:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            assert_eq!(retry_after(header, now), seconds.map(Duration::from_secs), "{header:?}");
        }
    }

    #[test]
    fn only_2xx_is_accepted_and_only_410_is_gone() {
        for status in [200, 204, 299] {
            assert_eq!(ReceiverAnswer::of_status(status), ReceiverAnswer::Accepted, "{status}");
        }
        for status in [100, 199, 300, 302, 308, 400, 404, 409, 411, 429, 500, 503, 999] {
            assert_eq!(ReceiverAnswer::of_status(status), ReceiverAnswer::Failed, "{status}");
        }
        assert_eq!(ReceiverAnswer::of_status(410), ReceiverAnswer::Gone);
    }
}
