//! Live streams: notices about the stream itself, client ids, and the backlog limits of slow readers.

mod backlog;
mod client;

pub use backlog::{Backlog, PushResult, QueueSize};
pub use client::{ClientId, InvalidClientId};

/// Names of the frames about the stream itself. They carry no id, so they never move a reader's cursor. Runners cannot
/// use these names as event types.
pub mod notice {
    pub const HELLO: &str = "hello";
    pub const REPLAY_COMPLETE: &str = "replay_complete";
    pub const GAP: &str = "gap";
    pub const SLOW_CLIENT_WARNING: &str = "slow_client_warning";
    pub const CLIENT_EVICTED: &str = "client_evicted";
    pub const CLOSED: &str = "closed";

    pub const ALL: [&str; 6] = [HELLO, REPLAY_COMPLETE, GAP, SLOW_CLIENT_WARNING, CLIENT_EVICTED, CLOSED];
}
