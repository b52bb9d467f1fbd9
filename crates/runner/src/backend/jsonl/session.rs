//! A conversation with one agent process: requests, responses, and the messages in between.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::message::{Envelope, Message, Reply, RpcError};
use crate::backend::passthrough::passthrough_event;
use crate::backend::{BackendEvent, BackendFailure, EventSink};
use crate::child::{Child, Line, ProcessOutput};

/// What differs between agents in the transport.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// Names the agent in failures.
    pub agent: &'static str,
    /// Prefix of the event types of passed-through messages.
    pub event_prefix: &'static str,
    pub envelope: Envelope,
    pub response_timeout: Duration,
}

/// Translates the messages that an agent sends on its own.
pub trait Translate {
    fn notification(&mut self, method: &str, params: Value) -> Vec<BackendEvent>;

    /// Answers a request outside of what the turn handles itself. Returns the event to report, if any.
    fn request(&mut self, method: &str, params: Value) -> (Reply, Option<BackendEvent>);
}

/// A running agent process with one open thread.
#[derive(Debug)]
pub struct JsonlSession<T> {
    child: Child,
    protocol: Protocol,
    thread: String,
    next_id: u64,
    pub(crate) translator: T,
}

impl<T: Translate> JsonlSession<T> {
    pub(crate) fn new(child: Child, protocol: Protocol, translator: T) -> Self {
        Self { child, protocol, thread: String::new(), next_id: 0, translator }
    }

    pub(crate) fn thread(&self) -> &str {
        &self.thread
    }

    pub(crate) fn set_thread(&mut self, thread: String) {
        self.thread = thread;
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request. Returns the id that its response will have.
    pub(crate) async fn send_request(&mut self, method: &str, params: &Value) -> Result<u64, BackendFailure> {
        let id = self.next_id;
        self.next_id += 1;
        self.write_line(&self.protocol.envelope.request(id, method, params)).await?;
        Ok(id)
    }

    pub(crate) async fn send_notification(
        &mut self,
        method: &str,
        params: Option<&Value>,
    ) -> Result<(), BackendFailure> {
        self.write_line(&self.protocol.envelope.notification(method, params)).await
    }

    pub(crate) async fn send_reply(&mut self, id: &Value, reply: &Reply) -> Result<(), BackendFailure> {
        self.write_line(&self.protocol.envelope.response(id, reply)).await
    }

    async fn write_line(&mut self, line: &str) -> Result<(), BackendFailure> {
        match self.child.write_line(line).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(BackendFailure::died(format!("{} does not read its input", self.protocol.agent)))
            }
            Err(_) => Err(self.exit_failure()),
        }
    }

    /// Reads the next message. Cancel safe.
    pub(crate) async fn receive(&mut self) -> Result<Message, BackendFailure> {
        match self.child.read_line().await {
            ProcessOutput::Line(Line::Complete(line)) => Ok(Message::parse(&line)),
            ProcessOutput::Line(Line::TooLong { bytes }) => Ok(Message::Invalid { bytes }),
            ProcessOutput::Eof => Err(self.exit_failure()),
        }
    }

    /// Handles a message that nobody waits for. Returns the events to report.
    pub(crate) async fn handle(&mut self, message: Message) -> Result<Vec<BackendEvent>, BackendFailure> {
        Ok(match message {
            Message::Request { id, method, params } => {
                let (reply, event) = self.translator.request(&method, params);
                self.send_reply(&id, &reply).await?;
                event.into_iter().collect()
            }
            Message::Notification { method, params } => self.translator.notification(&method, params),
            Message::Invalid { bytes } => {
                let payload = json!({ "bytes": bytes });
                vec![passthrough_event(self.protocol.event_prefix, "unreadable", payload)]
            }
            // Nothing waits for this response anymore.
            Message::Response { .. } => Vec::new(),
        })
    }

    /// Sends a request and waits for its response. Events in between go to the sink, or are dropped without one.
    pub(crate) async fn call(
        &mut self,
        method: &str,
        params: &Value,
        sink: Option<&EventSink>,
    ) -> Result<Result<Value, RpcError>, BackendFailure> {
        let request_id = self.send_request(method, params).await?;
        let deadline = Instant::now() + self.protocol.response_timeout;
        loop {
            let Ok(received) = timeout_at(deadline, self.receive()).await else {
                let agent = self.protocol.agent;
                return Err(BackendFailure::died(format!("{agent} did not answer {method} in time")));
            };
            let message = received?;
            if let Message::Response { id, result } = &message
                && *id == request_id
            {
                return Ok(result.clone());
            }
            let events = self.handle(message).await?;
            if let Some(sink) = sink {
                sink.report_all(events).await;
            }
        }
    }

    fn exit_failure(&mut self) -> BackendFailure {
        BackendFailure::died(format!("{} exited: {}", self.protocol.agent, self.child.exit_description()))
    }

    /// Returns the session when its handshake succeeded, and terminates it otherwise.
    pub(crate) async fn after_handshake(
        self,
        handshake: Result<(), BackendFailure>,
        sink: &EventSink,
    ) -> Result<Self, BackendFailure> {
        match handshake {
            Ok(()) => Ok(self),
            Err(failure) => {
                self.terminate(sink).await;
                Err(failure)
            }
        }
    }

    /// Kills the process and reports the end of its stderr for diagnosis.
    pub(crate) async fn terminate(self, sink: &EventSink) {
        let stderr = self.child.stderr_tail();
        drop(self.child);
        if !stderr.is_empty() {
            let detail = json!({ "stderr": stderr });
            sink.report(BackendEvent::Status { phase: "backend-ended".to_owned(), detail }).await;
        }
    }

    pub(crate) async fn shutdown(self, exit_timeout: Duration) {
        self.child.shutdown(exit_timeout).await;
    }
}
