//! The contract of a backend: how the runner drives an agent, whatever it is.
//!
//! A backend is a process of its own that speaks a protocol. It prepares, starts or resumes a thread, and works through
//! turns. What it reports goes through a sink; what it cannot do is a typed refusal, stated beforehand in its
//! capability record. What it says that we do not know passes on as data; what it asks for that we do not know is
//! refused.

pub mod acp;
pub mod choose;
pub mod codex;
mod event;
mod failure;
pub(crate) mod kept;
mod output;
pub mod script;
mod surroundings;
mod unknown;

pub use event::{BackendEvent, Sink};
pub use failure::{BackendFailure, Refusal};

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use secrecy::SecretString;
use tokio::sync::mpsc;

use crate::child::{Bounds, By, OutOfReach};

/// What a backend can do. The runner offers nothing else, and the behaviour suite expects nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    pub name: &'static str,
    /// Words can be put into a turn that runs.
    pub steers: bool,
    /// A turn can be interrupted and its thread goes on.
    pub interrupts: bool,
    /// A thread can be taken up again by a new process.
    pub resumes: bool,
    /// It asks before it does something, and takes no for an answer.
    pub asks: bool,
    /// It keeps what it runs off the network, while it reaches its model itself.
    pub unplugs: bool,
    /// It is a process of its own, which can die while the runner lives.
    pub lives_apart: bool,
}

/// Where and how a backend works.
#[derive(Debug, Clone)]
pub struct Setting {
    pub workspace: PathBuf,
    /// What the backend keeps of its threads. It outlives the process, and never holds a credential.
    pub state: PathBuf,
    pub sandbox: Sandbox,
    pub approval: Approval,
    pub network: Network,
    /// Set in the backend's environment and nowhere else.
    pub secrets: Vec<(String, SecretString)>,
    /// The longest that a turn may take.
    pub turn_timeout: Duration,
    /// What neither the agent nor anything that it starts can read or connect to.
    pub out_of_reach: OutOfReach,
    /// Tool calls in one turn; a model that asks for more has lost its way.
    pub tool_calls_at_most: u32,
}

impl Setting {
    /// Returns the bounds of the agent's process.
    fn bounds(&self, writable: Option<Vec<PathBuf>>) -> Bounds {
        let own = vec![self.workspace.clone(), self.state.clone()];
        Bounds { writable, out_of_reach: self.out_of_reach.clone(), own, by: By::default() }
    }
}

/// A thread of a backend: what it resumes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread(pub String);

/// Which thread to work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begin {
    New,
    /// Never a new one in its place: a thread that cannot be resumed is a failure.
    Resume(Thread),
}

/// Something that the runner wants of a turn that runs.
#[derive(Debug)]
pub enum Control {
    /// Put these words into the turn. The answer says whether the backend took them.
    Steer { words: String, taken: tokio::sync::oneshot::Sender<Result<(), Refusal>> },
    /// Stop the turn; the thread goes on.
    Interrupt,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Interrupted,
    Failed(BackendFailure),
}

/// A backend that runs. Dropping it ends its process and everything that the process started.
pub trait Backend: Send {
    fn capabilities(&self) -> Capabilities;

    /// Starts the process and begins or resumes a thread.
    fn begin<'a>(&'a mut self, begin: Begin, sink: &'a Sink)
    -> BoxFuture<'a, Result<Thread, BackendFailure>>;

    /// Works through one turn. Everything that happens goes into the sink before this returns; a control that comes too
    /// late is refused. After a failure the backend may be asked again, unless the failure says that it has died.
    fn turn<'a>(
        &'a mut self,
        words: &'a str,
        sink: &'a Sink,
        control: &'a mut mpsc::Receiver<Control>,
    ) -> BoxFuture<'a, TurnEnd>;

    /// Ends the process in good order, within a bounded time.
    fn finish(self: Box<Self>) -> BoxFuture<'static, ()>;

    /// Returns the process to watch and to kill; none for a backend that lives inside the runner.
    fn process(&self) -> Option<u32>;
}
