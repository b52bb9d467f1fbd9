//! The backend interface: how the runner drives an agent.
//!
//! A backend is usually a separate process that speaks a protocol. It starts or resumes a thread and works through
//! turns. It reports events through a sink. What it cannot do is declared in its capabilities and answered with a
//! typed error. Messages of the agent that we do not know are passed through as events; requests that we do not know
//! are rejected.

pub mod acp;
mod arguments;
pub mod codex;
mod control;
mod elicitation;
mod environment;
mod event;
mod failure;
mod jsonl;
mod model;
mod passthrough;
mod prompt;
mod provider_error;
mod question;
pub mod script;
pub mod select;
pub mod setup;
mod shell;
#[cfg(test)]
mod test_config;
mod tool_output;
mod user_question;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use secrecy::SecretString;
use tokio::sync::mpsc;

pub use control::{SteerError, TurnControl};
pub use event::{BackendEvent, EventSink};
pub use failure::BackendFailure;
pub use model::{ModelApi, ModelEndpoint, ModelProvider};
pub use prompt::{Prompt, PromptImage};
pub use question::{AnswerDelivery, PendingQuestion};
use setup::CacheMount;

use crate::model_proxy::{HostPattern, ModelCaps};
use crate::sandbox::{AgentUser, Containment, ProcessAccess, program_mounts};

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
    /// The provider's credential. A contained agent never gets it: the model proxy adds it to requests.
    pub secrets: Vec<(String, SecretString)>,
    pub turn_timeout: Duration,
    pub containment: Containment,
    /// The user that the agent runs as; `None` is the user of the runner.
    pub user: Option<AgentUser>,
    /// The hosts that are reachable with network `allow-list`.
    pub allowed_hosts: Vec<HostPattern>,
    /// The budget of the run.
    pub model_caps: ModelCaps,
    /// What the agent is told before the first turn of its thread.
    pub instructions: Option<String>,
    /// The cache of the project's setup.
    pub cache: Option<CacheMount>,
    /// Tool calls allowed in one turn; a model that requests more is stuck in a loop.
    pub max_tool_calls: u32,
}

impl BackendConfig {
    /// Returns what a program may access: the workspace as the policy says, and its private directories.
    fn access(&self, program: &Path, private: &[&Path], endpoint: &ModelEndpoint) -> ProcessAccess {
        let mut writable: Vec<PathBuf> = private.iter().map(|dir| (*dir).to_owned()).collect();
        let mut readable = program_mounts(program);
        match self.sandbox {
            Sandbox::ReadOnly => readable.push(self.workspace.clone()),
            Sandbox::WorkspaceWrite | Sandbox::DangerFullAccess => writable.push(self.workspace.clone()),
        }
        ProcessAccess {
            writable,
            readable,
            mounts: self.cache.as_ref().map(CacheMount::mounts).unwrap_or_default(),
            proxy: endpoint.socket.clone(),
            can_nest: false,
            user: self.user,
        }
    }

    /// Returns the variables with which tools outside of the system's directories find their files.
    fn tool_environment(&self) -> impl Iterator<Item = (String, String)> {
        let (tools, cache) = match &self.containment {
            Containment::Sandboxed(sandbox) => {
                let cache = self.cache.as_ref().map(CacheMount::environment).unwrap_or_default();
                (sandbox.tools.environment.clone(), cache)
            }
            Containment::Uncontained => (Vec::new(), Vec::new()),
        };
        // The last one of a name wins.
        tools.into_iter().chain(cache)
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
    /// The agent stopped because its request was declined.
    Blocked(String),
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
    /// rejected. A backend that takes no images fails a turn that has some. After a failure the backend can run another
    /// turn, unless the failure says that it died.
    fn run_turn<'a>(
        &'a mut self,
        prompt: &'a Prompt,
        sink: &'a EventSink,
        control: &'a mut mpsc::Receiver<TurnControl>,
    ) -> BoxFuture<'a, TurnOutcome>;

    /// Shuts the process down gracefully, within a bounded time.
    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()>;

    /// Returns the id of its process; `None` for a backend that runs inside the runner.
    fn process_id(&self) -> Option<u32>;
}
