//! Turns the events of a backend into events for the server: redacted, coalesced, and limited in size. Pure.

use std::collections::HashMap;

use guildhall_domain::runs::event;
use serde_json::{Value, json};

use super::redact::{RunSecrets, StreamRedactor};
use crate::backend::BackendEvent;

/// Bytes of one message to send; the rest is dropped and the message is marked as truncated.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// Bytes of output of one tool call to send.
const MAX_CALL_OUTPUT_BYTES: usize = 256 * 1024;

/// Bytes of output of all tool calls of one turn to send.
const MAX_TURN_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

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

/// A redacted text stream with a size limit.
#[derive(Debug)]
struct BoundedStream {
    redactor: StreamRedactor,
    sent: usize,
    dropped: usize,
}

/// Coalesces the text deltas of one turn and passes on its other events in order.
#[derive(Debug)]
pub struct DeltaCoalescer {
    secrets: RunSecrets,
    texts: HashMap<String, BoundedStream>,
    outputs: HashMap<String, BoundedStream>,
    /// The delta that later ones of the same item are appended to.
    pending: Option<PendingDelta>,
    turn_output: usize,
}

#[derive(Debug)]
struct PendingDelta {
    kind: &'static str,
    /// The id of the item or the tool call.
    source: String,
    text: String,
}

const DELTA: &str = event::ASSISTANT_DELTA;

impl DeltaCoalescer {
    #[must_use]
    pub fn new(secrets: RunSecrets) -> Self {
        Self { secrets, texts: HashMap::new(), outputs: HashMap::new(), pending: None, turn_output: 0 }
    }

    /// Adds an event. Returns the events that are ready to send.
    pub fn push(&mut self, event: BackendEvent) -> Vec<OutgoingEvent> {
        match event {
            BackendEvent::TextDelta { item, text } => self.push_text(item, &text),
            BackendEvent::ToolOutput { call, text } => self.push_output(call, &text),
            BackendEvent::Text { item, text, is_final } => {
                let mut ready = self.flush();
                ready.extend(self.finish_text(&item));
                ready.push(self.message(&item, &text, is_final));
                ready
            }
            BackendEvent::ToolFinished { call, tool, status, exit_code, command } => {
                let mut ready = self.flush();
                let (rest, dropped) = self.finish_output(&call);
                ready.extend(rest);
                let command = command.map(|command| self.secrets.redact(&command));
                ready.push(OutgoingEvent::new(
                    event::TOOL_CALL,
                    json!({
                        "callId": call, "toolName": tool, "status": status, "exitCode": exit_code,
                        "command": command, "outputDroppedBytes": dropped,
                    }),
                ));
                ready
            }
            BackendEvent::ToolStarted { call, tool, command } => {
                let command = command.map(|command| self.secrets.redact(&command));
                self.flush_then(
                    event::TOOL_CALL,
                    json!({ "callId": call, "toolName": tool, "status": "started", "command": command }),
                )
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
        let mut items: Vec<String> = self.texts.keys().cloned().collect();
        items.sort_unstable();
        for item in items {
            ready.extend(self.finish_text(&item));
        }
        let mut calls: Vec<String> = self.outputs.keys().cloned().collect();
        calls.sort_unstable();
        for call in calls {
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

    fn push_text(&mut self, item: String, text: &str) -> Vec<OutgoingEvent> {
        let secrets = &self.secrets;
        let stream = self.texts.entry(item.clone()).or_insert_with(|| BoundedStream::new(secrets));
        let redacted = stream.push(text, MAX_MESSAGE_BYTES);
        self.coalesce(DELTA, item, redacted)
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

    fn finish_text(&mut self, item: &str) -> Option<OutgoingEvent> {
        let text = self.texts.remove(item)?.finish(MAX_MESSAGE_BYTES);
        let source = item.to_owned();
        (!text.is_empty()).then(|| PendingDelta { kind: DELTA, source, text }.into_event())
    }

    /// Ends the output of a call. Returns its last events and the number of bytes that were dropped.
    fn finish_output(&mut self, call: &str) -> (Vec<OutgoingEvent>, usize) {
        let Some(mut stream) = self.outputs.remove(call) else { return (Vec::new(), 0) };
        let text = stream.finish(MAX_CALL_OUTPUT_BYTES.min(stream.sent + self.turn_output_budget()));
        self.turn_output += text.len();
        let mut ready = Vec::new();
        if !text.is_empty() {
            let source = call.to_owned();
            ready.push(PendingDelta { kind: event::COMMAND_OUTPUT, source, text }.into_event());
        }
        if stream.dropped > 0 {
            let payload = json!({ "callId": call, "text": "", "outputTruncated": true, "droppedBytes": stream.dropped });
            ready.push(OutgoingEvent::new(event::COMMAND_OUTPUT, payload));
        }
        (ready, stream.dropped)
    }

    fn message(&self, item: &str, text: &str, is_final: bool) -> OutgoingEvent {
        let redacted = self.secrets.redact(text);
        let cut = redacted.floor_char_boundary(MAX_MESSAGE_BYTES);
        let truncated = cut < redacted.len();
        OutgoingEvent::new(
            event::ASSISTANT_MESSAGE,
            json!({
                "itemId": item, "text": &redacted[..cut], "final": is_final, "replyAuthority": is_final,
                "textTruncated": truncated,
            }),
        )
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

impl BoundedStream {
    fn new(secrets: &RunSecrets) -> Self {
        Self { redactor: StreamRedactor::new(secrets.clone()), sent: 0, dropped: 0 }
    }

    fn push(&mut self, text: &str, max_bytes: usize) -> String {
        let redacted = self.redactor.push(text);
        self.truncate(redacted, max_bytes)
    }

    fn finish(&mut self, max_bytes: usize) -> String {
        let redacted = self.redactor.finish();
        self.truncate(redacted, max_bytes)
    }

    fn truncate(&mut self, mut text: String, max_bytes: usize) -> String {
        let cut = text.floor_char_boundary(max_bytes.saturating_sub(self.sent));
        self.dropped += text.len() - cut;
        text.truncate(cut);
        self.sent += cut;
        text
    }
}

impl PendingDelta {
    fn into_event(self) -> OutgoingEvent {
        let id = if self.kind == DELTA { "itemId" } else { "callId" };
        OutgoingEvent::new(self.kind, json!({ id: self.source, "text": self.text }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::SecretString;

    use super::*;

    fn coalescer() -> DeltaCoalescer {
        DeltaCoalescer::new(RunSecrets::new([SecretString::from("canary-0123456789")]))
    }

    fn delta(item: &str, text: &str) -> BackendEvent {
        BackendEvent::TextDelta { item: item.into(), text: text.into() }
    }

    fn run(
        coalescer: &mut DeltaCoalescer,
        events: impl IntoIterator<Item = BackendEvent>,
    ) -> Vec<OutgoingEvent> {
        let mut events: Vec<OutgoingEvent> =
            events.into_iter().flat_map(|event| coalescer.push(event)).collect();
        events.extend(coalescer.finish());
        events
    }

    #[test]
    fn deltas_of_one_item_are_coalesced_in_order() {
        let started = BackendEvent::ToolStarted { call: "c".into(), tool: "shell".into(), command: None };
        let events =
            run(&mut coalescer(), [delta("a", "one "), delta("a", "two "), started, delta("a", "three ")]);
        let kinds: Vec<_> =
            events.iter().map(|event| (event.kind.as_str(), &event.payload["text"])).collect();
        assert_eq!(
            kinds,
            [
                ("assistant_delta", &json!("one two ")),
                ("tool_call", &Value::Null),
                ("assistant_delta", &json!("three ")),
            ]
        );
    }

    #[test]
    fn output_over_the_limit_is_dropped_and_marked() {
        let chunk = BackendEvent::ToolOutput { call: "c".into(), text: "x\n".repeat(50_000) };
        let finished = BackendEvent::ToolFinished {
            call: "c".into(),
            tool: "shell".into(),
            status: "completed".into(),
            exit_code: Some(0),
            command: None,
        };
        let events = run(&mut coalescer(), std::iter::repeat_n(chunk, 100).chain([finished]));
        let sent: usize =
            events.iter().filter_map(|event| event.payload["text"].as_str()).map(str::len).sum();
        assert!(sent <= MAX_CALL_OUTPUT_BYTES, "{sent}");
        assert!(events.iter().any(|event| event.payload["outputTruncated"] == true));
        assert_eq!(
            events.last().map(|last| last.payload["outputDroppedBytes"].clone()),
            Some(json!(10_000_000 - sent))
        );
    }

    #[test]
    fn no_event_kind_leaks_a_secret() {
        let secret = "canary-0123456789";
        let mut coalescer = coalescer();
        let (first, second) = secret.split_at(7);
        let events = run(
            &mut coalescer,
            [
                delta("a", first),
                delta("a", second),
                BackendEvent::Text { item: "a".into(), text: format!("it is {secret}."), is_final: true },
                BackendEvent::ToolStarted {
                    call: "c".into(),
                    tool: "sh".into(),
                    command: Some(format!("echo {secret}")),
                },
                BackendEvent::ToolOutput { call: "c".into(), text: first.into() },
                BackendEvent::ToolOutput { call: "c".into(), text: second.into() },
                BackendEvent::Status { phase: "x".into(), detail: json!({ secret: [secret] }) },
                BackendEvent::Error {
                    kind: guildhall_domain::FailureKind::BackendFailed,
                    message: secret.into(),
                },
                BackendEvent::Other { kind: secret.into(), payload: json!({ "deep": { "er": secret } }) },
                BackendEvent::ApprovalDeclined { what: "run".into(), detail: json!(secret) },
            ],
        );
        let printed = format!("{events:?}");
        assert!(!printed.contains(secret) && printed.contains("[redacted:known]"), "{printed}");
    }

    proptest! {
        #[test]
        fn short_text_is_complete_however_it_is_chunked(
            deltas in proptest::collection::vec(("[ab]", "[a-z ]{0,9}"), 0..30),
        ) {
            let input = deltas.iter().map(|(item, text)| delta(item, text));
            let events = run(&mut coalescer(), input);
            for item in ["a", "b"] {
                let of_item = deltas.iter().filter(|(source, _)| source == item);
                let expected: String = of_item.map(|(_, text)| text.as_str()).collect();
                let sent: String = events.iter().filter(|event| event.payload["itemId"] == item)
                    .filter_map(|event| event.payload["text"].as_str()).collect();
                prop_assert_eq!(sent, expected);
            }
        }
    }
}
