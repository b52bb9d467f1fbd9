//! Forwards what a backend reports during a command: events to the pump, and questions after the events before them.

use std::pin::pin;

use guildhall_domain::ids::CommandId;
use tokio::sync::{mpsc, oneshot};

use super::questions::QuestionRequest;
use crate::backend::{BackendEvent, PendingQuestion};
use crate::pump::event_pump::PumpMessage;

/// Forwards the events and questions of one command.
pub(super) struct EventForwarder {
    pub(super) id: CommandId,
    pub(super) pump: mpsc::Sender<PumpMessage>,
    pub(super) events: mpsc::Receiver<BackendEvent>,
    pub(super) questions: mpsc::Receiver<PendingQuestion>,
    pub(super) ordered: mpsc::Sender<QuestionRequest>,
}

impl EventForwarder {
    /// Awaits a future of the backend, and forwards its events and questions meanwhile.
    pub(super) async fn forward_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => self.forward(event).await,
                Some(question) = self.questions.recv() => self.forward_question(question).await,
                result = &mut work => return result,
            }
        }
    }

    /// Forwards the events that are left, also those of a backend that failed to start.
    pub(super) async fn forward_remaining(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.forward(event).await;
        }
    }

    async fn forward(&self, event: BackendEvent) {
        let _pump_gone = self.pump.send(PumpMessage::Event(self.id, event)).await;
    }

    /// Forwards a question once the pump has the events before it: readers see the call before the question about it.
    async fn forward_question(&mut self, question: PendingQuestion) {
        self.forward_remaining().await;
        let (reply, delivered) = oneshot::channel();
        let _pump_gone = self.pump.send(PumpMessage::Deliver(reply)).await;
        let _turn_over = self.ordered.send(QuestionRequest { question, delivered }).await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use guildhall_domain::approvals::question::{Action, Question, QuestionKind};

    use super::*;
    use crate::backend::EventSink;

    const TIMEOUT: Duration = Duration::from_secs(10);

    struct ForwarderFixture {
        sink: EventSink,
        pending: mpsc::Sender<PendingQuestion>,
        forwarder: EventForwarder,
        messages: mpsc::Receiver<PumpMessage>,
        asked: mpsc::Receiver<QuestionRequest>,
    }

    impl ForwarderFixture {
        fn new() -> Self {
            let (sink, events) = EventSink::new();
            let (pending, questions) = mpsc::channel(4);
            let (ordered, asked) = mpsc::channel(4);
            let (pump, messages) = mpsc::channel(1000);
            let id = CommandId::generate();
            let forwarder = EventForwarder { id, pump, events, questions, ordered };
            Self { sink, pending, forwarder, messages, asked }
        }
    }

    fn question() -> Question {
        let action = Action {
            kind: QuestionKind::Command,
            tool: "shell".to_owned(),
            arguments: None,
            working_dir: None,
            environment: None,
            lifts: BTreeSet::new(),
            changes: Vec::new(),
        };
        Question { action, options: Vec::new(), reason: None, answer_schema: None }
    }

    async fn report(sink: &EventSink, count: u32) {
        for number in 0..count {
            let (item, text) = (number.to_string(), String::new());
            sink.report(BackendEvent::TextDelta { item, text }).await;
        }
    }

    #[tokio::test]
    async fn all_events_are_forwarded_when_the_backend_fails_to_start() {
        let ForwarderFixture { sink, mut forwarder, mut messages, .. } = ForwarderFixture::new();
        let start = async {
            // More events than the sink holds.
            report(&sink, 600).await;
            "start failed"
        };
        assert_eq!(tokio::time::timeout(TIMEOUT, forwarder.forward_during(start)).await, Ok("start failed"));
        forwarder.forward_remaining().await;
        drop(forwarder);
        let mut items = Vec::new();
        while let Some(PumpMessage::Event(_, BackendEvent::TextDelta { item, .. })) = messages.recv().await {
            items.push(item);
        }
        assert_eq!(items, (0..600).map(|number| number.to_string()).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn question_follows_the_events_that_were_reported_before_it() {
        let ForwarderFixture { sink, pending, mut forwarder, mut messages, mut asked } =
            ForwarderFixture::new();
        let (reply, _answer) = oneshot::channel();
        let (request, call) = ("1".to_owned(), Some("call".to_owned()));
        let question = PendingQuestion { request, call, question: question(), reply };
        let work = async {
            report(&sink, 3).await;
            pending.send(question).await.expect("forwarded");
            let asked = asked.recv().await.expect("a question");
            report(&sink, 1).await;
            asked
        };
        let asked = tokio::time::timeout(TIMEOUT, forwarder.forward_during(work)).await.expect("in time");
        assert_eq!(asked.question.call.as_deref(), Some("call"));
        forwarder.forward_remaining().await;
        drop(forwarder);
        let mut kinds = Vec::new();
        while let Some(message) = messages.recv().await {
            kinds.push(matches!(message, PumpMessage::Deliver(_)));
        }
        assert_eq!(kinds, [false, false, false, true, false], "the pump delivers between the events");
    }
}
