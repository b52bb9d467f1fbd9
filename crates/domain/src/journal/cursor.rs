//! Where a reader stands, in a form that survives the database being restored to an earlier day.

use std::fmt;
use std::str::FromStr;

use super::Seq;

/// Names one life of a database. A restore or a failover begins another: numbers given out before may be given out
/// again, to other entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Incarnation(u64);

impl Incarnation {
    /// Makes an incarnation from what PostgreSQL says of itself: the cluster it is, and its timeline.
    #[must_use]
    pub fn of(system_identifier: i64, timeline: i32) -> Self {
        // Timelines are small; a mix keeps the two from cancelling out.
        let mixed = (system_identifier.cast_unsigned() ^ 0x9e37_79b9_7f4a_7c15).rotate_left(17);
        Self(mixed.wrapping_add(u64::from(timeline.cast_unsigned()).wrapping_mul(0xbf58_476d_1ce4_e5b9)))
    }
}

/// A reader's place: the last number it has, in one life of the database. Written `<incarnation>-<seq>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub incarnation: Incarnation,
    pub seq: Seq,
}

/// What a cursor means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Everything after this number, and nothing was lost in between.
    After(Seq),
    /// Read again from the start, and say so (`recovered: false`).
    Lost(Gap),
}

/// Why a cursor leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// The database began another life.
    OtherIncarnation,
    /// The reader has numbers that the log does not: what it saw was lost.
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
    /// Decides where a reader goes on, in the present life of a database whose stream ends at `last`.
    #[must_use]
    pub fn resume(self, now: Incarnation, last: Seq) -> Position {
        if self.incarnation != now {
            return Position::Lost(Gap::OtherIncarnation);
        }
        if self.seq <= last { Position::After(self.seq) } else { Position::Lost(Gap::AheadOfLog) }
    }
}

/// A place in a session: the number of a run in it, and the last number of that run's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Place {
    pub ordinal: i32,
    pub seq: Seq,
}

/// A reader's place in a session, in one life of the database. Written `<incarnation>-<ordinal>-<seq>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionCursor {
    pub incarnation: Incarnation,
    pub place: Place,
}

impl SessionCursor {
    /// Decides where a reader goes on; `last` is the end of the run that the cursor stands in, none where there is no
    /// such run.
    pub fn resume(self, now: Incarnation, last: Option<Seq>) -> Result<Place, Gap> {
        if self.incarnation != now {
            return Err(Gap::OtherIncarnation);
        }
        match last {
            Some(last) if self.place.seq <= last => Ok(self.place),
            Some(_) | None => Err(Gap::AheadOfLog),
        }
    }
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}", self.incarnation.0, self.place.ordinal, self.place.seq)
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
        let cursor = Self { incarnation: Incarnation(incarnation), place: Place { ordinal, seq } };
        if cursor.to_string() == text { Ok(cursor) } else { Err(InvalidCursor) }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.incarnation.0, self.seq)
    }
}

/// A text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: use one that this server gave out, or 0 for the beginning")]
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
        fn a_cursor_is_read_back_from_its_text(system in any::<i64>(), timeline in 1i32..1000, seq in 0i64..i64::MAX) {
            let cursor = Cursor { incarnation: Incarnation::of(system, timeline), seq: Seq(seq) };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn a_text_that_parses_is_the_text_that_prints(text in "[0-9a-f]{14,18}-[0-9]{1,6}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }

        #[test]
        fn a_place_in_a_session_is_read_back_from_its_text(
            system in any::<i64>(), ordinal in 1..i32::MAX, seq in 0i64..i64::MAX,
        ) {
            let incarnation = Incarnation::of(system, 1);
            let cursor = SessionCursor { incarnation, place: Place { ordinal, seq: Seq(seq) } };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
            prop_assert!(cursor.to_string().parse::<Cursor>().is_err(), "a cursor of another kind of stream");
        }

        #[test]
        fn a_text_that_parses_as_a_place_is_the_text_that_prints(text in "[0-9a-f]{15,17}-[-0-9]{1,4}-[0-9]{1,6}") {
            if let Ok(cursor) = text.parse::<SessionCursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }

        #[test]
        fn another_timeline_is_another_life(system in any::<i64>(), one in 1i32..10_000, other in 1i32..10_000) {
            prop_assert_eq!(Incarnation::of(system, one) == Incarnation::of(system, other), one == other);
        }
    }

    #[test]
    fn a_reader_that_is_ahead_of_the_database_is_told_that_something_was_lost() {
        let now = Incarnation::of(7, 1);
        let cursor = Cursor { incarnation: now, seq: Seq(10) };
        assert_eq!(cursor.resume(now, Seq(10)), Position::After(Seq(10)));
        assert_eq!(cursor.resume(now, Seq(9)), Position::Lost(Gap::AheadOfLog));
        assert_eq!(cursor.resume(Incarnation::of(7, 2), Seq(10)), Position::Lost(Gap::OtherIncarnation));
        let place = Place { ordinal: 2, seq: Seq(10) };
        let cursor = SessionCursor { incarnation: now, place };
        assert_eq!(cursor.resume(now, Some(Seq(10))), Ok(place));
        assert_eq!(cursor.resume(now, Some(Seq(9))), Err(Gap::AheadOfLog));
        assert_eq!(cursor.resume(now, None), Err(Gap::AheadOfLog));
        assert_eq!(cursor.resume(Incarnation::of(7, 2), Some(Seq(10))), Err(Gap::OtherIncarnation));
    }
}
