//! What a backend reports, in our own words.

use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::Usage;
use serde_json::Value;
use tokio::sync::mpsc;

/// Something that happened in a turn. The pump cleans it, merges it and numbers it.
#[derive(Debug, Clone, PartialEq)]
pub enum BackendEvent {
    /// A piece of what the agent says.
    TextDelta {
        item: String,
        text: String,
    },
    /// All of what the agent said in one item; `is_final` where the backend says that it is the answer of the turn.
    Text {
        item: String,
        text: String,
        is_final: bool,
    },
    ToolBegan {
        call: String,
        tool: String,
        command: Option<String>,
    },
    /// A piece of what a tool printed.
    ToolOutput {
        call: String,
        text: String,
    },
    /// All that a tool printed, as far as it was kept: sent where the pieces were not all of it, or there were none.
    /// It stands in place of the pieces.
    ToolPrinted {
        call: String,
        text: String,
        truncated: bool,
    },
    ToolEnded {
        call: String,
        tool: String,
        status: String,
        exit_code: Option<i64>,
        command: Option<String>,
    },
    /// What it cost since the last report.
    Usage(Usage),
    /// Something about the backend itself, such as a lost connection to its model.
    Status {
        phase: String,
        detail: Value,
    },
    /// Something went wrong that did not end the turn.
    Error {
        kind: FailureKind,
        message: String,
    },
    /// The backend asked for leave and did not get it.
    Declined {
        what: String,
        detail: Value,
    },
    /// A file that the turn changed, or the sum of those that are not named.
    Artifact(Value),
    /// Something that we do not know. It passes on as it is.
    Other {
        kind: String,
        payload: Value,
    },
}

/// Where a backend reports to. It holds a bounded number of events; a backend that is faster waits.
#[derive(Debug, Clone)]
pub struct Sink(mpsc::Sender<BackendEvent>);

/// Events that wait for the pump: one batch ahead.
const WAITING: usize = 256;

impl Sink {
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<BackendEvent>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Reports. When the pump is gone the runner is ending, and nobody is left to tell.
    pub async fn report(&self, event: BackendEvent) {
        let _nobody_is_left = self.0.send(event).await;
    }
}
