//! Following: what a stream of facts tells a reader beside the facts, who the reader says it is, and how far it may fall
//! behind.

mod backlog;
mod client;

pub use backlog::{Backlog, Bounds, Push};
pub use client::{ClientId, InvalidClientId};

/// The frames about a stream itself. They carry no id, so they never move a reader's cursor; no runner may use their
/// names for its events.
pub mod notice {
    pub const HELLO: &str = "hello";
    pub const REPLAY_COMPLETE: &str = "replay_complete";
    pub const GAP: &str = "gap";
    pub const SLOW_CLIENT_WARNING: &str = "slow_client_warning";
    pub const CLIENT_EVICTED: &str = "client_evicted";
    pub const CLOSED: &str = "closed";

    pub const ALL: [&str; 6] = [HELLO, REPLAY_COMPLETE, GAP, SLOW_CLIENT_WARNING, CLIENT_EVICTED, CLOSED];
}
