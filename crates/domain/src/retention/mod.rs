//! Retention: how long a tenant keeps its history.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// How many days a session is kept after its last use, with its runs, events and approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryDays(u16);

impl HistoryDays {
    pub const MIN: u16 = 1;
    pub const MAX: u16 = 3650;

    pub fn new(days: u32) -> Result<Self, InvalidHistoryDays> {
        let days = u16::try_from(days).map_err(|_| InvalidHistoryDays)?;
        if (Self::MIN..=Self::MAX).contains(&days) { Ok(Self(days)) } else { Err(InvalidHistoryDays) }
    }

    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the time before which sessions are no longer kept.
    #[must_use]
    pub fn cutoff(self, now: Timestamp) -> Timestamp {
        let kept = SignedDuration::from_hours(24 * i64::from(self.0));
        now.checked_sub(kept).unwrap_or(Timestamp::MIN)
    }
}

impl fmt::Display for HistoryDays {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use {} to {} days", HistoryDays::MIN, HistoryDays::MAX)]
pub struct InvalidHistoryDays;

/// What a tenant's retention would erase now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryCounts {
    pub sessions: u64,
    pub runs: u64,
    pub events: u64,
}

/// Rows that nobody needs any more, whatever the tenants keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TechnicalRowCounts {
    /// Runner jobs that have ended.
    pub jobs: u64,
    /// Enrolments of runners that the server started.
    pub enrolments: u64,
    /// Runners that hold no run and were not seen for long.
    pub runners: u64,
    /// Logins that have ended.
    pub logins: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_kept_for_a_day_to_ten_years() {
        let accepted = |days| HistoryDays::new(days).map(HistoryDays::get);
        assert_eq!(
            [0, 1, 3650, 3651, 65_537].map(accepted),
            [Err(InvalidHistoryDays), Ok(1), Ok(3650), Err(InvalidHistoryDays), Err(InvalidHistoryDays)]
        );
        assert_eq!(InvalidHistoryDays.to_string(), "use 1 to 3650 days");
    }

    #[test]
    fn cutoff_is_whole_days_before_now() {
        let now: Timestamp = "2026-03-31T12:00:00Z".parse().expect("a time");
        let days = HistoryDays::new(30).expect("a limit");
        assert_eq!(days.cutoff(now).to_string(), "2026-03-01T12:00:00Z");
        assert_eq!(days.cutoff(Timestamp::MIN), Timestamp::MIN);
    }
}
