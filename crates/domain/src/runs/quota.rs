//! How much the events of a run may use.

use super::event::InvalidEvent;

/// The limits of the events that a runner appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventQuota {
    /// The largest stored event.
    pub max_event_bytes: u64,
    /// All events of a run together.
    pub max_run_bytes: u64,
}

impl EventQuota {
    /// Checks the size of one event.
    pub fn check_event(&self, bytes: usize) -> Result<(), InvalidEvent> {
        if bytes as u64 > self.max_event_bytes {
            Err(InvalidEvent::Size(self.max_event_bytes))
        } else {
            Ok(())
        }
    }
}
