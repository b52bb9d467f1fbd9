//! Events that a backend reports.

use guildhall_domain::FailureKind;
use guildhall_domain::approvals::question::Question;
use guildhall_domain::runs::event::Usage;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::question::{AnswerDelivery, PendingQuestion};

/// An event of a turn. The pump redacts, coalesces and numbers it.
#[derive(Debug, Clone, PartialEq)]
pub enum BackendEvent {
    /// A chunk of the agent's text.
    TextDelta { item: String, text: String },
    /// The complete text of one item; `is_final` when the backend marks it as the answer of the turn.
    Text { item: String, text: String, is_final: bool },
    /// A chunk of the agent's reasoning.
    ReasoningDelta { item: String, text: String },
    /// The complete reasoning of one item; `truncated` when the backend dropped the end of it.
    Reasoning { item: String, text: String, truncated: bool },
    ToolStarted {
        call: String,
        tool: String,
        command: Option<String>,
        /// All arguments, as an object.
        arguments: Option<Value>,
    },
    /// A chunk of a tool's output.
    ToolOutput { call: String, text: String },
    /// The complete output of a tool call, up to a limit. Sent when the chunks were incomplete or missing; it replaces
    /// them.
    ToolFullOutput { call: String, text: String, truncated: bool },
    ToolFinished {
        call: String,
        tool: String,
        status: String,
        exit_code: Option<i64>,
        command: Option<String>,
        /// The arguments, if they are not those of the start.
        arguments: Option<Value>,
    },
    /// Usage since the last report.
    Usage(Usage),
    /// A status of the backend itself, such as a lost connection to its model.
    Status { phase: String, detail: Value },
    /// An error that did not end the turn.
    Error { kind: FailureKind, message: String },
    /// The backend asked for permission and was declined.
    ApprovalDeclined { what: String, detail: Value },
    /// A file that the turn changed, or a summary of the remaining ones.
    Artifact(Value),
    /// An event that we do not know; passed through unchanged.
    Other { kind: String, payload: Value },
}

/// Where a backend reports its events, and asks its questions. The queue is bounded: a backend that is faster than the
/// pump waits.
#[derive(Debug, Clone)]
pub struct EventSink {
    events: mpsc::Sender<BackendEvent>,
    /// None where nobody can be asked.
    questions: Option<mpsc::Sender<PendingQuestion>>,
}

/// Events that wait for the pump: more than one batch.
const SINK_CAPACITY: usize = 256;

impl EventSink {
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<BackendEvent>) {
        let (sender, receiver) = mpsc::channel(SINK_CAPACITY);
        (Self { events: sender, questions: None }, receiver)
    }

    /// Returns a sink whose questions are asked.
    #[must_use]
    pub fn with_questions(self, questions: mpsc::Sender<PendingQuestion>) -> Self {
        Self { questions: Some(questions), ..self }
    }

    /// Asks a question, about a tool call if there is one. Returns where its answer will arrive; none if nobody can be
    /// asked. The events that were reported before it arrive before it.
    pub(super) async fn ask(
        &self,
        request: String,
        call: Option<String>,
        question: Question,
    ) -> Option<oneshot::Receiver<AnswerDelivery>> {
        let (reply, answer) = oneshot::channel();
        let questions = self.questions.as_ref()?;
        questions.send(PendingQuestion { request, call, question, reply }).await.ok()?;
        Some(answer)
    }

    /// Reports an event. When the pump is gone the runner is shutting down, and the event is dropped.
    pub async fn report(&self, event: BackendEvent) {
        let _pump_gone = self.events.send(event).await;
    }

    /// Reports events in order.
    pub async fn report_all(&self, events: impl IntoIterator<Item = BackendEvent>) {
        for event in events {
            self.report(event).await;
        }
    }
}
