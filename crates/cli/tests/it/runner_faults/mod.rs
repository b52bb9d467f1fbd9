//! Fault injection for the runner binary: it is killed, stopped, disconnected or drained, its server restarts, its turn
//! is cancelled. No tool call may run twice, no process may be left running, and no event may be lost silently.

mod agent;
mod cancel;
mod drain;
mod fixture;
mod kills;
mod leftover_events;
mod network_cut;
mod process;
mod proxy;
mod server_errors;
mod server_restart;
mod start_failure;

use std::time::Duration;

/// Short, to keep the tests fast.
const LEASE: Duration = Duration::from_secs(6);
const GRACE: Duration = Duration::from_secs(1);

/// A lost runner must be detected this long after its last heartbeat.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(6 + 1 + 15);
