//! Positions in a stream of frames.

use std::fmt;
use std::str::FromStr;

/// The position of a frame: the event that caused it, and its number among the frames of that event. Its text is
/// `{run ordinal}.{seq}.{index}`, such as `2.17.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cursor {
    /// Number of the run in its session.
    pub ordinal: i32,
    pub seq: i64,
    pub index: u32,
}

/// The text is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid cursor: use the id of the last event that you received, such as `2.17.0`")]
pub struct InvalidCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.ordinal, self.seq, self.index)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let mut parts = text.split('.').filter(|_| is_plain);
        let (Some(ordinal), Some(seq), Some(index), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidCursor);
        };
        Ok(Self {
            ordinal: ordinal.parse().map_err(|_| InvalidCursor)?,
            seq: seq.parse().map_err(|_| InvalidCursor)?,
            index: index.parse().map_err(|_| InvalidCursor)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_read_from_its_text_and_from_nothing_else() {
        let cursor = Cursor { ordinal: 2, seq: 17, index: 0 };
        assert_eq!(cursor.to_string(), "2.17.0");
        assert_eq!("2.17.0".parse(), Ok(cursor));
        for text in ["", "2", "2.17", "2.17.0.1", "2.-17.0", "+2.17.0", "a.b.c", "2.17.99999999999"] {
            assert_eq!(text.parse::<Cursor>(), Err(InvalidCursor), "{text}");
        }
    }

    #[test]
    fn cursors_sort_by_run_event_and_frame() {
        let sorted = ["1.9.3", "1.10.0", "1.10.1", "2.1.0"].map(|text| text.parse::<Cursor>().expect(text));
        assert!(sorted.is_sorted());
    }
}
