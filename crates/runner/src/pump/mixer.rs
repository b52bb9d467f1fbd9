//! From what a backend reports to what the server is told: cleaned, merged, bounded. Pure.

use std::collections::HashMap;

use guildhall_domain::runs::event;
use serde_json::{Value, json};

use super::veil::{Known, Veil};
use crate::backend::BackendEvent;

/// Text of one message that is sent; the rest is dropped and the message marked.
const TEXT_AT_MOST: usize = 256 * 1024;

/// Output of one tool call that is sent.
const OUTPUT_AT_MOST: usize = 256 * 1024;

/// Output of one turn that is sent, over all its tool calls.
const TURN_OUTPUT_AT_MOST: usize = 4 * 1024 * 1024;

/// Pieces are merged up to this size; then another event begins.
const PIECE_AT_MOST: usize = 32 * 1024;

/// Something to tell the server. It holds no secret that is known or has a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub kind: String,
    pub payload: Value,
}

impl Report {
    fn new(kind: &str, payload: Value) -> Self {
        Self { kind: kind.to_owned(), payload }
    }

    /// Returns about how many bytes it takes on the wire.
    #[must_use]
    pub fn size(&self) -> usize {
        self.kind.len() + self.payload.to_string().len() + 64
    }
}

/// A text that comes in pieces.
#[derive(Debug)]
struct Flow {
    veil: Veil,
    sent: usize,
    dropped: usize,
}

/// Mixes the events of one turn.
#[derive(Debug)]
pub struct Mixer {
    known: Known,
    texts: HashMap<String, Flow>,
    outputs: HashMap<String, Flow>,
    /// Pieces that wait to be merged with the next, in the order in which they began.
    pieces: Vec<Piece>,
    turn_output: usize,
}

#[derive(Debug)]
struct Piece {
    kind: &'static str,
    of: String,
    text: String,
}

const DELTA: &str = event::ASSISTANT_DELTA;

impl Mixer {
    #[must_use]
    pub fn new(known: Known) -> Self {
        Self { known, texts: HashMap::new(), outputs: HashMap::new(), pieces: Vec::new(), turn_output: 0 }
    }

    /// Takes an event in. Returns what is ready to be told.
    pub fn push(&mut self, event: BackendEvent) -> Vec<Report> {
        match event {
            BackendEvent::TextDelta { item, text } => self.text_piece(item, &text),
            BackendEvent::ToolOutput { call, text } => self.output_piece(call, &text),
            BackendEvent::Text { item, text, is_final } => {
                let mut ready = self.settle();
                ready.extend(self.end_text(&item));
                ready.push(self.message(&item, &text, is_final));
                ready
            }
            BackendEvent::ToolEnded { call, tool, status, exit_code, command } => {
                let mut ready = self.settle();
                let (rest, dropped) = self.end_output(&call);
                ready.extend(rest);
                let command = command.map(|command| self.known.clean(&command));
                ready.push(Report::new(
                    event::TOOL_CALL,
                    json!({
                        "callId": call, "toolName": tool, "status": status, "exitCode": exit_code,
                        "command": command, "outputDroppedBytes": dropped,
                    }),
                ));
                ready
            }
            BackendEvent::ToolBegan { call, tool, command } => {
                let command = command.map(|command| self.known.clean(&command));
                self.then(
                    event::TOOL_CALL,
                    json!({ "callId": call, "toolName": tool, "status": "started", "command": command }),
                )
            }
            BackendEvent::ToolPrinted { call, text, truncated } => self.printed(&call, &text, truncated),
            BackendEvent::Usage(usage) => self.then(event::USAGE, json!(usage)),
            BackendEvent::Status { phase, detail } => {
                let detail = self.clean_json(detail);
                self.then(event::BACKEND_STATUS, json!({ "phase": phase, "detail": detail }))
            }
            BackendEvent::Error { kind, message } => {
                let message = self.known.clean(&message);
                self.then(event::ERROR, json!({ "failureKind": kind.as_str(), "message": message }))
            }
            BackendEvent::Declined { what, detail } => {
                let detail = self.clean_json(detail);
                let payload = json!({ "what": what, "detail": detail, "reason": "no approvals yet" });
                self.then("approval_declined", payload)
            }
            BackendEvent::Artifact(payload) => {
                let payload = self.clean_json(payload);
                self.then(event::ARTIFACT, payload)
            }
            BackendEvent::Other { kind, payload } => {
                let payload = json!({ "kind": self.known.clean(&kind), "payload": self.clean_json(payload) });
                self.then("backend_event", payload)
            }
        }
    }

    /// Tells all that a tool printed, in place of its pieces.
    fn printed(&mut self, call: &str, text: &str, truncated: bool) -> Vec<Report> {
        let mut ready = self.settle();
        ready.extend(self.end_output(call).0);
        let clean = self.known.clean(text);
        let left = TURN_OUTPUT_AT_MOST.saturating_sub(self.turn_output).min(OUTPUT_AT_MOST);
        let cut = floor(&clean, left);
        self.turn_output += cut;
        let truncated = truncated || cut < clean.len();
        let payload = json!({
            "callId": call, "text": &clean[..cut], "whole": true, "outputTruncated": truncated,
        });
        ready.push(Report::new(event::COMMAND_OUTPUT, payload));
        ready
    }

    /// Tells something in one piece, after the pieces that came before it.
    fn then(&mut self, kind: &str, payload: Value) -> Vec<Report> {
        let mut ready = self.settle();
        ready.push(Report::new(kind, payload));
        ready
    }

    /// Returns what waits to be merged: it has waited long enough.
    pub fn settle(&mut self) -> Vec<Report> {
        self.pieces.drain(..).filter(|piece| !piece.text.is_empty()).map(Piece::report).collect()
    }

    /// Ends the turn: everything that was held back goes out.
    pub fn finish(&mut self) -> Vec<Report> {
        let mut ready = self.settle();
        let mut items: Vec<String> = self.texts.keys().cloned().collect();
        items.sort_unstable();
        for item in items {
            ready.extend(self.end_text(&item));
        }
        let mut calls: Vec<String> = self.outputs.keys().cloned().collect();
        calls.sort_unstable();
        for call in calls {
            ready.extend(self.end_output(&call).0);
        }
        ready
    }

    fn text_piece(&mut self, item: String, text: &str) -> Vec<Report> {
        let known = &self.known;
        let flow = self.texts.entry(item.clone()).or_insert_with(|| Flow::new(known));
        let clean = flow.push(text, TEXT_AT_MOST);
        self.merge(DELTA, item, clean)
    }

    fn output_piece(&mut self, call: String, text: &str) -> Vec<Report> {
        let known = &self.known;
        let flow = self.outputs.entry(call.clone()).or_insert_with(|| Flow::new(known));
        let left = TURN_OUTPUT_AT_MOST.saturating_sub(self.turn_output);
        let clean = flow.push(text, OUTPUT_AT_MOST.min(flow.sent + left));
        self.turn_output += clean.len();
        self.merge(event::COMMAND_OUTPUT, call, clean)
    }

    /// Adds a piece to the last one of the same item. Pieces of another item end it: order is kept.
    fn merge(&mut self, kind: &'static str, of: String, text: String) -> Vec<Report> {
        if text.is_empty() {
            return Vec::new();
        }
        match self.pieces.last_mut() {
            Some(last)
                if last.kind == kind && last.of == of && last.text.len() + text.len() <= PIECE_AT_MOST =>
            {
                last.text.push_str(&text);
                Vec::new()
            }
            _ => {
                let ready = self.settle();
                self.pieces.push(Piece { kind, of, text });
                ready
            }
        }
    }

    fn end_text(&mut self, item: &str) -> Vec<Report> {
        let Some(mut flow) = self.texts.remove(item) else { return Vec::new() };
        let rest = flow.finish(TEXT_AT_MOST);
        if rest.is_empty() {
            Vec::new()
        } else {
            vec![Piece { kind: DELTA, of: item.to_owned(), text: rest }.report()]
        }
    }

    fn end_output(&mut self, call: &str) -> (Vec<Report>, usize) {
        let Some(mut flow) = self.outputs.remove(call) else { return (Vec::new(), 0) };
        let left = TURN_OUTPUT_AT_MOST.saturating_sub(self.turn_output);
        let rest = flow.finish(OUTPUT_AT_MOST.min(flow.sent + left));
        self.turn_output += rest.len();
        let mut reports = Vec::new();
        if !rest.is_empty() {
            reports.push(Piece { kind: event::COMMAND_OUTPUT, of: call.to_owned(), text: rest }.report());
        }
        if flow.dropped > 0 {
            let payload =
                json!({ "callId": call, "text": "", "outputTruncated": true, "droppedBytes": flow.dropped });
            reports.push(Report::new(event::COMMAND_OUTPUT, payload));
        }
        (reports, flow.dropped)
    }

    fn message(&self, item: &str, text: &str, is_final: bool) -> Report {
        let clean = self.known.clean(text);
        let cut = floor(&clean, TEXT_AT_MOST);
        let truncated = cut < clean.len();
        Report::new(
            event::ASSISTANT_MESSAGE,
            json!({
                "itemId": item, "text": &clean[..cut], "final": is_final, "replyAuthority": is_final,
                "textTruncated": truncated,
            }),
        )
    }

    fn clean_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.known.clean(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.clean_json(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (self.known.clean(&name), self.clean_json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}

impl Flow {
    fn new(known: &Known) -> Self {
        Self { veil: Veil::new(known.clone()), sent: 0, dropped: 0 }
    }

    fn push(&mut self, text: &str, at_most: usize) -> String {
        let clean = self.veil.push(text);
        self.bound(clean, at_most)
    }

    fn finish(&mut self, at_most: usize) -> String {
        let clean = self.veil.finish();
        self.bound(clean, at_most)
    }

    fn bound(&mut self, mut text: String, at_most: usize) -> String {
        let cut = floor(&text, at_most.saturating_sub(self.sent));
        self.dropped += text.len() - cut;
        text.truncate(cut);
        self.sent += cut;
        text
    }
}

impl Piece {
    fn report(self) -> Report {
        let of = if self.kind == DELTA { "itemId" } else { "callId" };
        Report::new(self.kind, json!({ of: self.of, "text": self.text }))
    }
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::SecretString;

    use super::*;

    fn mixer() -> Mixer {
        Mixer::new(Known::new([SecretString::from("canary-0123456789")]))
    }

    fn delta(item: &str, text: &str) -> BackendEvent {
        BackendEvent::TextDelta { item: item.into(), text: text.into() }
    }

    fn all(mixer: &mut Mixer, events: impl IntoIterator<Item = BackendEvent>) -> Vec<Report> {
        let mut reports: Vec<Report> = events.into_iter().flat_map(|event| mixer.push(event)).collect();
        reports.extend(mixer.finish());
        reports
    }

    #[test]
    fn pieces_of_one_item_become_one_event_and_order_is_kept() {
        let began = BackendEvent::ToolBegan { call: "c".into(), tool: "shell".into(), command: None };
        let reports =
            all(&mut mixer(), [delta("a", "one "), delta("a", "two "), began, delta("a", "three ")]);
        let kinds: Vec<_> =
            reports.iter().map(|report| (report.kind.as_str(), &report.payload["text"])).collect();
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
    fn output_beyond_the_bound_is_dropped_and_said_to_be() {
        let piece = BackendEvent::ToolOutput { call: "c".into(), text: "x\n".repeat(50_000) };
        let ended = BackendEvent::ToolEnded {
            call: "c".into(),
            tool: "shell".into(),
            status: "completed".into(),
            exit_code: Some(0),
            command: None,
        };
        let reports = all(&mut mixer(), std::iter::repeat_n(piece, 100).chain([ended]));
        let sent: usize =
            reports.iter().filter_map(|report| report.payload["text"].as_str()).map(str::len).sum();
        assert!(sent <= OUTPUT_AT_MOST, "{sent}");
        assert!(reports.iter().any(|report| report.payload["outputTruncated"] == true));
        assert_eq!(
            reports.last().map(|last| last.payload["outputDroppedBytes"].clone()),
            Some(json!(10_000_000 - sent))
        );
    }

    #[test]
    fn a_secret_gets_out_by_no_way() {
        let secret = "canary-0123456789";
        let mut mixer = mixer();
        let (first, second) = secret.split_at(7);
        let reports = all(
            &mut mixer,
            [
                delta("a", first),
                delta("a", second),
                BackendEvent::Text { item: "a".into(), text: format!("it is {secret}."), is_final: true },
                BackendEvent::ToolBegan {
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
                BackendEvent::Declined { what: "run".into(), detail: json!(secret) },
            ],
        );
        let told = format!("{reports:?}");
        assert!(!told.contains(secret) && told.contains("[redacted:known]"), "{told}");
    }

    proptest! {
        #[test]
        fn nothing_of_a_short_text_is_lost_however_it_comes(
            pieces in proptest::collection::vec(("[ab]", "[a-z ]{0,9}"), 0..30),
        ) {
            let events = pieces.iter().map(|(item, text)| delta(item, text));
            let reports = all(&mut mixer(), events);
            for item in ["a", "b"] {
                let said: String = pieces.iter().filter(|(of, _)| of == item).map(|(_, text)| text.as_str()).collect();
                let told: String = reports.iter().filter(|report| report.payload["itemId"] == item)
                    .filter_map(|report| report.payload["text"].as_str()).collect();
                prop_assert_eq!(told, said);
            }
        }
    }
}
