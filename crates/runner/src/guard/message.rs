//! Messages from a worker to its guard, one per line.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardMessage {
    /// A run is held. Without another message within this time the guard kills the worker.
    LeaseHeld(Duration),
    /// No run is held.
    Idle,
}

impl GuardMessage {
    pub(super) fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            Some(("until", millis)) => millis.parse().ok().map(Duration::from_millis).map(Self::LeaseHeld),
            Some(_) => None,
            None => (line == "free").then_some(Self::Idle),
        }
    }
}

impl fmt::Display for GuardMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaseHeld(time_left) => write!(f, "until {}", time_left.as_millis()),
            Self::Idle => f.write_str("free"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_message_round_trips_and_other_lines_are_rejected() {
        for message in [GuardMessage::LeaseHeld(Duration::from_millis(3500)), GuardMessage::Idle] {
            assert_eq!(GuardMessage::parse(&message.to_string()), Some(message));
        }
        for line in ["", "until", "until soon", "until -1", "free now"] {
            assert_eq!(GuardMessage::parse(line), None, "{line}");
        }
    }
}
