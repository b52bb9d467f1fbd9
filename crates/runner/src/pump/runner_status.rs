//! Status events that a runner reports about itself.

use std::time::Duration;

use serde_json::{Value, json};

use crate::spool::LeftoverSpool;

/// A status event of the runner. Its id is deterministic, so sending it again adds no second event.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerStatus {
    pub id: String,
    pub payload: Value,
}

impl RunnerStatus {
    /// Reports a spool file of an earlier runner. Its events stay on disk: their epoch is over, so they cannot be
    /// appended as if they happened now.
    #[must_use]
    pub fn leftover_spool(spool: &LeftoverSpool) -> Self {
        let host = host_name();
        Self {
            id: format!("left-{}-{}-{host}", spool.epoch, spool.kind.as_str()),
            payload: json!({
                "phase": "events-left-behind", "host": host, "file": spool.file, "events": spool.events,
                "epoch": spool.epoch, "reason": spool.kind.as_str(),
            }),
        }
    }

    /// Reports that the server rejected events permanently, and in which file they are.
    #[must_use]
    pub fn rejected_events(epoch: i64, number: u64, events: usize, file: &str) -> Self {
        Self {
            id: format!("refused-{epoch}-{number}"),
            payload: json!({
                "phase": "events-refused", "host": host_name(), "file": file, "events": events, "epoch": epoch,
            }),
        }
    }

    /// Returns whether an event is one of [`RunnerStatus::rejected_events`].
    pub(super) fn is_rejection_id(id: &str) -> bool {
        id.starts_with("refused-")
    }

    /// Reports that the runner was asked to stop while a turn runs.
    #[must_use]
    pub fn draining(epoch: i64, timeout: Duration) -> Self {
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            id: format!("draining-{epoch}"),
            payload: json!({
                "phase": "runner-draining", "host": host_name(), "epoch": epoch, "withinMs": timeout_ms,
            }),
        }
    }

    /// Reports that the agent of the run is not contained.
    #[must_use]
    pub fn uncontained(epoch: i64) -> Self {
        Self {
            id: format!("uncontained-{epoch}"),
            payload: json!({ "phase": "agent-uncontained", "host": host_name(), "epoch": epoch }),
        }
    }

    /// Reports a line of the runner's log.
    #[must_use]
    pub fn log(epoch: i64, number: u64, level: &'static str, message: &str) -> Self {
        Self {
            id: format!("log-{epoch}-{number}"),
            payload: json!({ "phase": "runner-log", "level": level, "message": message }),
        }
    }

    /// Reports why the runner releases the run.
    #[must_use]
    pub fn leaving(epoch: i64, reason: &'static str) -> Self {
        Self {
            id: format!("leaving-{epoch}"),
            payload: json!({ "phase": "runner-leaving", "host": host_name(), "epoch": epoch, "reason": reason }),
        }
    }
}

/// Returns this machine's name, limited to characters that are valid in an event id.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.chars().filter(char::is_ascii_graphic).take(64).collect()
}
