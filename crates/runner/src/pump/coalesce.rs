//! Turns the events of a backend into events for the server: redacted, coalesced, and limited in size. Pure.

use std::collections::HashMap;

use guildhall_domain::runs::event;
use serde_json::{Value, json};

use super::arguments::bound_arguments;
use super::bounded_stream::BoundedStream;
use super::redact::{RunSecrets, StreamRedactor};
use crate::backend::BackendEvent;

/// Bytes of one message or one text of reasoning to send; the rest is dropped and the text is marked as truncated.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Bytes of output of one tool call to send.
const MAX_CALL_OUTPUT_BYTES: usize = 256 * 1024;

/// Bytes of output of all tool calls of one turn to send.
const MAX_TURN_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of reasoning of one turn to send.
const MAX_TURN_REASONING_BYTES: usize = 4 * 1024 * 1024;

/// Deltas are coalesced up to this size; then a new event starts.
const MAX_DELTA_BYTES: usize = 32 * 1024;

/// An event for the server, without secrets that are known or recognizable.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingEvent {
    pub kind: String,
    pub payload: Value,
}

impl OutgoingEvent {
    pub(super) fn new(kind: &str, payload: Value) -> Self {
        Self { kind: kind.to_owned(), payload }
    }

    /// Returns the approximate size on the wire.
    #[must_use]
    pub fn size(&self) -> usize {
        self.kind.len() + self.payload.to_string().len() + 64
    }
}

/// Coalesces the text deltas of one turn and passes on its other events in order.
#[derive(Debug)]
pub struct DeltaCoalescer {
    secrets: RunSecrets,
    messages: HashMap<String, BoundedStream>,
    reasoning: HashMap<String, BoundedStream>,
    outputs: HashMap<String, BoundedStream>,
    /// The delta that later ones of the same item are appended to.
    pending: Option<PendingDelta>,
    turn_output: usize,
    turn_reasoning: usize,
}

#[derive(Debug)]
struct PendingDelta {
    kind: &'static str,
    /// The id of the item or the tool call.
    source: String,
    text: String,
}

impl DeltaCoalescer {
    #[must_use]
    pub fn new(secrets: RunSecrets) -> Self {
        Self {
            secrets,
            messages: HashMap::new(),
            reasoning: HashMap::new(),
            outputs: HashMap::new(),
            pending: None,
            turn_output: 0,
            turn_reasoning: 0,
        }
    }

    /// Adds an event. Returns the events that are ready to send.
    pub fn push(&mut self, event: BackendEvent) -> Vec<OutgoingEvent> {
        match event {
            BackendEvent::TextDelta { item, text } => self.push_message(item, &text),
            BackendEvent::ReasoningDelta { item, text } => self.push_reasoning(item, &text),
            BackendEvent::ToolOutput { call, text } => self.push_output(call, &text),
            BackendEvent::Text { item, text, is_final } => {
                let mut ready = self.flush();
                ready.extend(self.finish_message(&item));
                ready.push(self.message(&item, &text, is_final));
                ready
            }
            BackendEvent::Reasoning { item, text, truncated } => {
                self.complete_reasoning(&item, &text, truncated)
            }
            BackendEvent::ToolFinished { call, tool, status, exit_code, command, arguments } => {
                let mut ready = self.flush();
                let (rest, dropped) = self.finish_output(&call);
                ready.extend(rest);
                let end = json!({
                    "callId": call, "toolName": tool, "status": status, "exitCode": exit_code,
                    "outputDroppedBytes": dropped,
                });
                ready.push(self.tool_call(end, command, arguments));
                ready
            }
            BackendEvent::ToolStarted { call, tool, command, arguments } => {
                let mut ready = self.flush();
                let start = json!({ "callId": call, "toolName": tool, "status": "started" });
                ready.push(self.tool_call(start, command, arguments));
                ready
            }
            BackendEvent::ToolFullOutput { call, text, truncated } => {
                self.full_output(&call, &text, truncated)
            }
            BackendEvent::Usage(usage) => self.flush_then(event::USAGE, json!(usage)),
            BackendEvent::Status { phase, detail } => {
                let detail = self.redact_json(detail);
                self.flush_then(event::BACKEND_STATUS, json!({ "phase": phase, "detail": detail }))
            }
            BackendEvent::Error { kind, message } => {
                let message = self.secrets.redact(&message);
                self.flush_then(event::ERROR, json!({ "failureKind": kind.as_str(), "message": message }))
            }
            BackendEvent::ApprovalDeclined { what, detail } => {
                let detail = self.redact_json(detail);
                let payload = json!({ "what": what, "detail": detail, "reason": "nobody is asked" });
                self.flush_then(event::APPROVAL_DECLINED, payload)
            }
            BackendEvent::Artifact(payload) => {
                let payload = self.redact_json(payload);
                self.flush_then(event::ARTIFACT, payload)
            }
            BackendEvent::Other { kind, payload } => {
                let payload =
                    json!({ "kind": self.secrets.redact(&kind), "payload": self.redact_json(payload) });
                self.flush_then(event::BACKEND_EVENT, payload)
            }
        }
    }

    /// Returns the pending delta: it has waited long enough.
    pub fn flush(&mut self) -> Vec<OutgoingEvent> {
        self.pending.take().map(PendingDelta::into_event).into_iter().collect()
    }

    /// Ends the turn. Returns everything that was held back.
    pub fn finish(&mut self) -> Vec<OutgoingEvent> {
        let mut ready = self.flush();
        for item in sorted_keys(&self.reasoning) {
            ready.extend(self.finish_reasoning(&item));
        }
        for item in sorted_keys(&self.messages) {
            ready.extend(self.finish_message(&item));
        }
        for call in sorted_keys(&self.outputs) {
            ready.extend(self.finish_output(&call).0);
        }
        ready
    }

    /// Returns the full output of a tool call, which replaces its chunks.
    fn full_output(&mut self, call: &str, text: &str, truncated: bool) -> Vec<OutgoingEvent> {
        let mut ready = self.flush();
        ready.extend(self.finish_output(call).0);
        let redacted = self.secrets.redact(text);
        let budget = self.turn_output_budget().min(MAX_CALL_OUTPUT_BYTES);
        let cut = redacted.floor_char_boundary(budget);
        self.turn_output += cut;
        let truncated = truncated || cut < redacted.len();
        let payload = json!({
            "callId": call, "text": &redacted[..cut], "whole": true, "outputTruncated": truncated,
        });
        ready.push(OutgoingEvent::new(event::COMMAND_OUTPUT, payload));
        ready
    }

    /// Returns the pending delta, then the given event.
    fn flush_then(&mut self, kind: &str, payload: Value) -> Vec<OutgoingEvent> {
        let mut ready = self.flush();
        ready.push(OutgoingEvent::new(kind, payload));
        ready
    }

    fn push_message(&mut self, item: String, text: &str) -> Vec<OutgoingEvent> {
        let secrets = &self.secrets;
        let stream = self.messages.entry(item.clone()).or_insert_with(|| BoundedStream::new(secrets));
        let redacted = stream.push(text, MAX_TEXT_BYTES);
        self.coalesce(event::ASSISTANT_DELTA, item, redacted)
    }

    fn push_reasoning(&mut self, item: String, text: &str) -> Vec<OutgoingEvent> {
        let (secrets, budget) = (&self.secrets, self.turn_reasoning_budget());
        let stream = self.reasoning.entry(item.clone()).or_insert_with(|| BoundedStream::new(secrets));
        let redacted = stream.push(text, MAX_TEXT_BYTES.min(stream.sent + budget));
        self.turn_reasoning += redacted.len();
        self.coalesce(event::REASONING_DELTA, item, redacted)
    }

    fn push_output(&mut self, call: String, text: &str) -> Vec<OutgoingEvent> {
        let (secrets, budget) = (&self.secrets, self.turn_output_budget());
        let stream = self.outputs.entry(call.clone()).or_insert_with(|| BoundedStream::new(secrets));
        let redacted = stream.push(text, MAX_CALL_OUTPUT_BYTES.min(stream.sent + budget));
        self.turn_output += redacted.len();
        self.coalesce(event::COMMAND_OUTPUT, call, redacted)
    }

    fn turn_output_budget(&self) -> usize {
        MAX_TURN_OUTPUT_BYTES.saturating_sub(self.turn_output)
    }

    fn turn_reasoning_budget(&self) -> usize {
        MAX_TURN_REASONING_BYTES.saturating_sub(self.turn_reasoning)
    }

    /// Appends a delta to the pending one of the same source. A delta of another source flushes it, to keep the order.
    fn coalesce(&mut self, kind: &'static str, source: String, text: String) -> Vec<OutgoingEvent> {
        if text.is_empty() {
            return Vec::new();
        }
        match &mut self.pending {
            Some(last)
                if last.kind == kind
                    && last.source == source
                    && last.text.len() + text.len() <= MAX_DELTA_BYTES =>
            {
                last.text.push_str(&text);
                Vec::new()
            }
            _ => {
                let ready = self.flush();
                self.pending = Some(PendingDelta { kind, source, text });
                ready
            }
        }
    }

    fn finish_message(&mut self, item: &str) -> Option<OutgoingEvent> {
        let text = self.messages.remove(item)?.finish(MAX_TEXT_BYTES);
        last_delta(event::ASSISTANT_DELTA, item, text)
    }

    fn finish_reasoning(&mut self, item: &str) -> Option<OutgoingEvent> {
        let mut stream = self.reasoning.remove(item)?;
        let text = stream.finish(MAX_TEXT_BYTES.min(stream.sent + self.turn_reasoning_budget()));
        self.turn_reasoning += text.len();
        last_delta(event::REASONING_DELTA, item, text)
    }

    /// Ends the output of a call. Returns its last events and the number of bytes that were dropped.
    fn finish_output(&mut self, call: &str) -> (Vec<OutgoingEvent>, usize) {
        let Some(mut stream) = self.outputs.remove(call) else { return (Vec::new(), 0) };
        let text = stream.finish(MAX_CALL_OUTPUT_BYTES.min(stream.sent + self.turn_output_budget()));
        self.turn_output += text.len();
        let mut ready: Vec<_> = last_delta(event::COMMAND_OUTPUT, call, text).into_iter().collect();
        if stream.dropped > 0 {
            let payload = json!({ "callId": call, "text": "", "outputTruncated": true, "droppedBytes": stream.dropped });
            ready.push(OutgoingEvent::new(event::COMMAND_OUTPUT, payload));
        }
        (ready, stream.dropped)
    }

    fn message(&self, item: &str, text: &str, is_final: bool) -> OutgoingEvent {
        let redacted = self.secrets.redact(text);
        let cut = redacted.floor_char_boundary(MAX_TEXT_BYTES);
        let truncated = cut < redacted.len();
        OutgoingEvent::new(
            event::ASSISTANT_MESSAGE,
            json!({
                "itemId": item, "text": &redacted[..cut], "final": is_final, "replyAuthority": is_final,
                "textTruncated": truncated,
            }),
        )
    }

    /// Returns the complete reasoning of an item. The end of a truncated text may be a part of a secret: it is left out.
    fn complete_reasoning(&mut self, item: &str, text: &str, truncated: bool) -> Vec<OutgoingEvent> {
        let mut ready = self.flush();
        ready.extend(self.finish_reasoning(item));
        let redacted = if truncated {
            StreamRedactor::new(self.secrets.clone()).push(text)
        } else {
            self.secrets.redact(text)
        };
        let cut = redacted.floor_char_boundary(self.turn_reasoning_budget().min(MAX_TEXT_BYTES));
        self.turn_reasoning += cut;
        let truncated = truncated || cut < redacted.len();
        let payload = json!({ "itemId": item, "text": &redacted[..cut], "textTruncated": truncated });
        ready.push(OutgoingEvent::new(event::REASONING, payload));
        ready
    }

    /// Adds the command and the arguments to the start or the end of a call. Arguments that are not known are left out.
    fn tool_call(
        &self,
        mut payload: Value,
        command: Option<String>,
        arguments: Option<Value>,
    ) -> OutgoingEvent {
        payload["command"] = json!(command.map(|command| self.secrets.redact(&command)));
        if let Some(arguments) = arguments {
            let (arguments, is_cut) = bound_arguments(self.redact_json(arguments));
            payload["arguments"] = arguments;
            if is_cut {
                payload["argumentsTruncated"] = json!(true);
            }
        }
        OutgoingEvent::new(event::TOOL_CALL, payload)
    }

    fn redact_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.secrets.redact(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_json(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (self.secrets.redact(&name), self.redact_json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}

impl PendingDelta {
    fn into_event(self) -> OutgoingEvent {
        let id = if self.kind == event::COMMAND_OUTPUT { "callId" } else { "itemId" };
        OutgoingEvent::new(self.kind, json!({ id: self.source, "text": self.text }))
    }
}

/// Returns the delta of what was held back, if there is something.
fn last_delta(kind: &'static str, source: &str, text: String) -> Option<OutgoingEvent> {
    let source = source.to_owned();
    (!text.is_empty()).then(|| PendingDelta { kind, source, text }.into_event())
}

fn sorted_keys(streams: &HashMap<String, BoundedStream>) -> Vec<String> {
    let mut keys: Vec<String> = streams.keys().cloned().collect();
    keys.sort_unstable();
    keys
}

#[cfg(test)]
#[path = "coalesce_tests.rs"]
mod tests;
