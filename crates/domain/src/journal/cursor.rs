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
    /// The database began another life: read again from the start, and say so (`recovered: false`).
    Lost,
}

impl Cursor {
    /// Decides where a reader goes on, in the present life of a database whose stream ends at `last`.
    #[must_use]
    pub fn resume(self, now: Incarnation, last: Seq) -> Position {
        if self.incarnation == now && self.seq <= last { Position::After(self.seq) } else { Position::Lost }
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
        fn another_timeline_is_another_life(system in any::<i64>(), one in 1i32..10_000, other in 1i32..10_000) {
            prop_assert_eq!(Incarnation::of(system, one) == Incarnation::of(system, other), one == other);
        }
    }

    #[test]
    fn a_reader_that_is_ahead_of_the_database_is_told_that_something_was_lost() {
        let now = Incarnation::of(7, 1);
        let cursor = Cursor { incarnation: now, seq: Seq(10) };
        assert_eq!(cursor.resume(now, Seq(10)), Position::After(Seq(10)));
        assert_eq!(cursor.resume(now, Seq(9)), Position::Lost);
        assert_eq!(cursor.resume(Incarnation::of(7, 2), Seq(10)), Position::Lost);
    }
}
