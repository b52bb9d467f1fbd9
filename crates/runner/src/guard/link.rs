//! The worker's side of the guard: it reports its lease, and exits when the guard is gone.

use std::io::{self, Read, Write};
use std::process::exit;
use std::thread;
use std::time::Duration;

use super::message::GuardMessage;
use crate::child;

/// Exit code of a worker whose guard is gone.
const GUARD_LOST_EXIT_CODE: i32 = 1;

/// The worker's connection to its guard. Without a guard, reports are dropped.
#[derive(Debug, Clone, Copy, Default)]
pub struct GuardLink {
    is_guarded: bool,
}

impl GuardLink {
    /// Connects to the guard over the standard streams, which are used for nothing else from now on.
    ///
    /// A dedicated thread waits for the guard's exit, so that a busy runtime does not delay it.
    pub fn connect() -> io::Result<Self> {
        thread::Builder::new().name("guard".to_owned()).spawn(|| {
            let _closed = io::stdin().read_to_end(&mut Vec::new());
            child::kill_descendants();
            exit(GUARD_LOST_EXIT_CODE);
        })?;
        Ok(Self { is_guarded: true })
    }

    /// Reports that a run is held and that the next report comes within `time_left`.
    pub fn report_lease(self, time_left: Duration) {
        self.send(GuardMessage::LeaseHeld(time_left));
    }

    /// Reports that no run is held.
    pub fn report_idle(self) {
        self.send(GuardMessage::Idle);
    }

    fn send(self, message: GuardMessage) {
        if self.is_guarded {
            // Writing fails only when the guard is gone; the thread of `connect` handles that.
            let mut out = io::stdout().lock();
            let _guard_gone = writeln!(out, "{message}").and_then(|()| out.flush());
        }
    }
}
