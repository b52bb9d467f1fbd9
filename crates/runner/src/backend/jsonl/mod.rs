//! Line-delimited JSON-RPC over the standard streams of a child process: what Codex and ACP agents have in common.

mod backend;
mod message;
mod session;
mod stop;

pub(super) use backend::{Agent, AgentBackend};
pub(super) use message::{Envelope, Message, Reply, RpcError};
pub(super) use session::{JsonlSession, Protocol, Translate};
pub(super) use stop::{PendingStop, StopReason};
