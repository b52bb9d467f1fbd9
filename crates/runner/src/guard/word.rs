//! What a worker says to its guard: a line a word.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// A run is held; say so again within this time, or be killed.
    Until(Duration),
    /// No run is held.
    Free,
}

impl Word {
    pub(super) fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            Some(("until", millis)) => millis.parse().ok().map(Duration::from_millis).map(Self::Until),
            Some(_) => None,
            None => (line == "free").then_some(Self::Free),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Until(left) => write!(f, "until {}", left.as_millis()),
            Self::Free => f.write_str("free"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_it_was_said_and_nothing_else_is_one() {
        for word in [Word::Until(Duration::from_millis(3500)), Word::Free] {
            assert_eq!(Word::parse(&word.to_string()), Some(word));
        }
        for line in ["", "until", "until soon", "until -1", "free now"] {
            assert_eq!(Word::parse(line), None, "{line}");
        }
    }
}
