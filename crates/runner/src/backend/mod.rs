//! The backend interface: how the runner drives an agent.
//!
//! A backend is usually a separate process that speaks a protocol. It starts or resumes a thread and works through
//! turns. It reports events through a sink. What it cannot do is declared in its capabilities and answered with a
//! typed error. Messages of the agent that we do not know are passed through as events; requests that we do not know
//! are rejected.

pub mod acp;
pub mod codex;
mod control;
mod environment;
mod event;
mod failure;
mod jsonl;
mod passthrough;
mod provider_error;
pub mod script;
pub mod select;
#[cfg(test)]
mod test_config;
mod tool_output;

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use secrecy::SecretString;
use tokio::sync::mpsc;

pub use control::{SteerError, TurnControl};
pub use event::{BackendEvent, EventSink};
pub use failure::BackendFailure;

use crate::child::{Confinement, ConfinementMethod, DenyList};

/// What a backend can do. The runner requests nothing else, and the behaviour suite expects nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    pub name: &'static str,
    /// A running turn accepts more text.
    pub can_steer: bool,
    /// A turn can be interrupted, and its thread continues.
    pub can_interrupt: bool,
    /// A new process can resume a thread.
    pub can_resume: bool,
    /// It asks for approval before it acts, and respects a refusal.
    pub asks_approval: bool,
    /// It can block network access of its commands while it reaches its model.
    pub isolates_network: bool,
    /// It runs in its own process, which can die while the runner continues.
    pub is_separate_process: bool,
}

/// Where and how a backend works.
#[derive(Debug, Clone)]
pub struct BackendConfig {
    pub workspace: PathBuf,
    /// Directory for the backend's threads. It outlives the process and never holds a credential.
    pub state: PathBuf,
    pub sandbox: Sandbox,
    pub approval: Approval,
    pub network: Network,
    /// Set in the backend's environment and nowhere else.
    pub secrets: Vec<(String, SecretString)>,
    pub turn_timeout: Duration,
    /// What the agent and its descendants cannot access or connect to.
    pub deny: DenyList,
    /// Tool calls allowed in one turn; a model that requests more is stuck in a loop.
    pub max_tool_calls: u32,
}

impl BackendConfig {
    /// Returns the confinement of the agent's process.
    fn confinement(&self, writable: Option<Vec<PathBuf>>) -> Confinement {
        let own_dirs = vec![self.workspace.clone(), self.state.clone()];
        Confinement { writable, deny: self.deny.clone(), own_dirs, method: ConfinementMethod::default() }
    }
}

/// The backend's own id of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadId(pub String);

/// Which thread to work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadStart {
    New,
    /// A thread that cannot be resumed is a failure; a new one never replaces it.
    Resume(ThreadId),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    Completed,
    Interrupted,
    Failed(BackendFailure),
}

/// A running backend. Dropping it kills its process and everything that the process started.
pub trait Backend: Send {
    fn capabilities(&self) -> Capabilities;

    /// Starts the process, and starts or resumes a thread.
    fn start<'a>(
        &'a mut self,
        thread: ThreadStart,
        sink: &'a EventSink,
    ) -> BoxFuture<'a, Result<ThreadId, BackendFailure>>;

    /// Runs one turn. All of its events are in the sink before this returns; a control that arrives too late is
    /// rejected. After a failure the backend can run another turn, unless the failure says that it died.
    fn run_turn<'a>(
        &'a mut self,
        prompt: &'a str,
        sink: &'a EventSink,
        control: &'a mut mpsc::Receiver<TurnControl>,
    ) -> BoxFuture<'a, TurnOutcome>;

    /// Shuts the process down gracefully, within a bounded time.
    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()>;

    /// Returns the id of its process; `None` for a backend that runs inside the runner.
    fn process_id(&self) -> Option<u32>;
}
