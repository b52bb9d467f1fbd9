//! What a runner says of itself in the run, beside what its backend reports.

use std::time::Duration;

use serde_json::{Value, json};

use crate::spool::Left;

/// A word of the runner. Its id is the same however often, and by whichever runner, it is said.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    pub id: String,
    pub payload: Value,
}

impl Note {
    /// Names what an earlier runner could not send. The events stay on disk: their epoch is over, so nobody may append
    /// them as if they happened now.
    #[must_use]
    pub fn left_behind(left: &Left) -> Self {
        let host = host();
        Self {
            id: format!("left-{}-{}-{host}", left.epoch, left.why.as_str()),
            payload: json!({
                "phase": "events-left-behind", "host": host, "file": left.file, "events": left.events,
                "epoch": left.epoch, "reason": left.why.as_str(),
            }),
        }
    }

    /// Says that events were refused for good, and where they are kept.
    #[must_use]
    pub fn refused(epoch: i64, number: u64, events: usize, file: &str) -> Self {
        Self {
            id: format!("refused-{epoch}-{number}"),
            payload: json!({
                "phase": "events-refused", "host": host(), "file": file, "events": events, "epoch": epoch,
            }),
        }
    }

    /// Says that the runner was told to stop while a turn runs.
    #[must_use]
    pub fn draining(epoch: i64, within: Duration) -> Self {
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        Self {
            id: format!("draining-{epoch}"),
            payload: json!({
                "phase": "runner-draining", "host": host(), "epoch": epoch, "withinMs": within_ms,
            }),
        }
    }

    /// Says why the runner gives the run back.
    #[must_use]
    pub fn leaving(epoch: i64, why: &'static str) -> Self {
        Self {
            id: format!("leaving-{epoch}"),
            payload: json!({ "phase": "runner-leaving", "host": host(), "epoch": epoch, "reason": why }),
        }
    }
}

/// Returns this machine's name, in characters that an id may have.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.chars().filter(char::is_ascii_graphic).take(64).collect()
}
