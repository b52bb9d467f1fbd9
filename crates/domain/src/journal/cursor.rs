//! Reader cursors that detect a restore of the database from a backup.

use std::fmt;
use std::str::FromStr;

use super::Seq;

/// Identifies one incarnation of a database. A restore or a failover starts a new one, in which sequence numbers can
/// be assigned again to other entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Incarnation(u64);

impl Incarnation {
    /// Creates an incarnation from the system identifier and the timeline of PostgreSQL.
    #[must_use]
    pub fn new(system_identifier: i64, timeline: i32) -> Self {
        // Timelines are small numbers: mixing prevents collisions of the two values.
        let mixed = (system_identifier.cast_unsigned() ^ 0x9e37_79b9_7f4a_7c15).rotate_left(17);
        Self(mixed.wrapping_add(u64::from(timeline.cast_unsigned()).wrapping_mul(0xbf58_476d_1ce4_e5b9)))
    }
}

/// The last sequence number that a reader has received, in one database incarnation. Text form: `<incarnation>-<seq>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub incarnation: Incarnation,
    pub seq: Seq,
}

/// Where a reader resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumePosition {
    /// After this number; no entry was lost.
    After(Seq),
    /// From the start, with a gap notice (`recovered: false`).
    Gap(Gap),
}

/// Why a cursor cannot be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// The database has a new incarnation.
    OtherIncarnation,
    /// The cursor is past the end of the log: entries were lost.
    AheadOfLog,
}

impl Gap {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OtherIncarnation => "other_incarnation",
            Self::AheadOfLog => "ahead_of_log",
        }
    }
}

impl Cursor {
    /// Decides where a reader resumes; `last` is the end of the stream in the current incarnation `now`.
    #[must_use]
    pub fn resume(self, now: Incarnation, last: Seq) -> ResumePosition {
        if self.incarnation != now {
            return ResumePosition::Gap(Gap::OtherIncarnation);
        }
        if self.seq <= last { ResumePosition::After(self.seq) } else { ResumePosition::Gap(Gap::AheadOfLog) }
    }
}

/// A position in a session: the ordinal of a run, and the last sequence number in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SessionPosition {
    pub ordinal: i32,
    pub seq: Seq,
}

/// A reader's position in a session, in one database incarnation. Text form: `<incarnation>-<ordinal>-<seq>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionCursor {
    pub incarnation: Incarnation,
    pub position: SessionPosition,
}

impl SessionCursor {
    /// Decides where a reader resumes; `last` is the end of the run that the cursor refers to, `None` if there is no
    /// such run.
    pub fn resume(self, now: Incarnation, last: Option<Seq>) -> Result<SessionPosition, Gap> {
        if self.incarnation != now {
            return Err(Gap::OtherIncarnation);
        }
        match last {
            Some(last) if self.position.seq <= last => Ok(self.position),
            Some(_) | None => Err(Gap::AheadOfLog),
        }
    }
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}", self.incarnation.0, self.position.ordinal, self.position.seq)
    }
}

impl FromStr for SessionCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (before, seq) = text.rsplit_once('-').ok_or(InvalidCursor)?;
        let (incarnation, ordinal) = before.split_once('-').ok_or(InvalidCursor)?;
        let incarnation = u64::from_str_radix(incarnation, 16).map_err(|_| InvalidCursor)?;
        let ordinal = ordinal.parse().ok().filter(|ordinal| *ordinal > 0).ok_or(InvalidCursor)?;
        let seq = seq.parse().ok().and_then(Seq::new).ok_or(InvalidCursor)?;
        let cursor =
            Self { incarnation: Incarnation(incarnation), position: SessionPosition { ordinal, seq } };
        if cursor.to_string() == text { Ok(cursor) } else { Err(InvalidCursor) }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.incarnation.0, self.seq)
    }
}

/// A malformed cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid cursor: use one returned by this server, or 0 for the beginning")]
pub struct InvalidCursor;

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (incarnation, seq) = text.split_once('-').ok_or(InvalidCursor)?;
        let incarnation = u64::from_str_radix(incarnation, 16).map_err(|_| InvalidCursor)?;
        let seq = seq.parse().ok().and_then(Seq::new).ok_or(InvalidCursor)?;
        let cursor = Self { incarnation: Incarnation(incarnation), seq };
        if cursor.to_string() == text { Ok(cursor) } else { Err(InvalidCursor) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cursor_round_trips_through_text(system in any::<i64>(), timeline in 1i32..1000, seq in 0i64..i64::MAX) {
            let cursor = Cursor { incarnation: Incarnation::new(system, timeline), seq: Seq(seq) };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn parsed_cursor_prints_the_same_text(text in "[0-9a-f]{14,18}-[0-9]{1,6}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }

        #[test]
        fn session_cursor_round_trips_through_text(
            system in any::<i64>(), ordinal in 1..i32::MAX, seq in 0i64..i64::MAX,
        ) {
            let incarnation = Incarnation::new(system, 1);
            let cursor = SessionCursor { incarnation, position: SessionPosition { ordinal, seq: Seq(seq) } };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
            prop_assert!(cursor.to_string().parse::<Cursor>().is_err(), "a session cursor parsed as a stream cursor");
        }

        #[test]
        fn parsed_session_cursor_prints_the_same_text(text in "[0-9a-f]{15,17}-[-0-9]{1,4}-[0-9]{1,6}") {
            if let Ok(cursor) = text.parse::<SessionCursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }

        #[test]
        fn incarnations_differ_exactly_when_timelines_differ(
            system in any::<i64>(), one in 1i32..10_000, other in 1i32..10_000,
        ) {
            prop_assert_eq!(Incarnation::new(system, one) == Incarnation::new(system, other), one == other);
        }
    }

    #[test]
    fn cursor_ahead_of_the_log_or_of_another_incarnation_is_a_gap() {
        let now = Incarnation::new(7, 1);
        let cursor = Cursor { incarnation: now, seq: Seq(10) };
        assert_eq!(cursor.resume(now, Seq(10)), ResumePosition::After(Seq(10)));
        assert_eq!(cursor.resume(now, Seq(9)), ResumePosition::Gap(Gap::AheadOfLog));
        assert_eq!(
            cursor.resume(Incarnation::new(7, 2), Seq(10)),
            ResumePosition::Gap(Gap::OtherIncarnation)
        );
        let position = SessionPosition { ordinal: 2, seq: Seq(10) };
        let cursor = SessionCursor { incarnation: now, position };
        assert_eq!(cursor.resume(now, Some(Seq(10))), Ok(position));
        assert_eq!(cursor.resume(now, Some(Seq(9))), Err(Gap::AheadOfLog));
        assert_eq!(cursor.resume(now, None), Err(Gap::AheadOfLog));
        assert_eq!(cursor.resume(Incarnation::new(7, 2), Some(Seq(10))), Err(Gap::OtherIncarnation));
    }
}
