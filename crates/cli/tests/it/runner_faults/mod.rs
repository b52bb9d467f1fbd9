//! Fault injection for the runner binary: it is killed, stopped, disconnected or drained, its server restarts, its turn
//! is cancelled. No tool call may run twice, no process may be left running, and no event may be lost silently.

pub(crate) mod agent;
mod approval_faults;
mod approvals;
mod budget;
mod cancel;
mod drain;
mod fixture;
mod kills;
mod leftover_events;
mod long_waits;
mod network_cut;
mod parked_questions;
mod server_errors;
mod server_restart;
mod start_failure;

use std::time::Duration;

/// Short, to keep the tests fast, and long enough for a machine that stands still for seconds: a runner gives up when a
/// quarter of its lease is left.
const LEASE: Duration = Duration::from_secs(12);
const LEASE_SETTING: &str = "12s";
const GRACE: Duration = Duration::from_secs(1);

/// A lost runner must be detected this long after its last heartbeat.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(12 + 1 + 15);
