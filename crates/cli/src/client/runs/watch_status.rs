//! The status of a followed run: how long, how many tokens, and what it waits for.

use std::time::Duration;

use guildhall_domain::runs::event;
use guildhall_protocol::rest::runs::EventView;
use serde_json::Value;

use super::event_renderer::{is_tool_running, tool_name};
use crate::output::sanitize_line;

/// What the events so far say about the progress of a run.
#[derive(Debug)]
pub(super) struct WatchStatus {
    input_tokens: u64,
    output_tokens: u64,
    waits_for: String,
}

impl Default for WatchStatus {
    fn default() -> Self {
        Self { input_tokens: 0, output_tokens: 0, waits_for: "a runner".to_owned() }
    }
}

impl WatchStatus {
    pub(super) fn update(&mut self, event: &EventView) {
        let Some(payload) = event.payload.as_ref().filter(|_| !event.late) else { return };
        if event.r#type == event::USAGE {
            let number = |name: &str| payload[name].as_u64().unwrap_or(0);
            self.input_tokens = self.input_tokens.saturating_add(number("inputTokens"));
            self.output_tokens = self.output_tokens.saturating_add(number("outputTokens"));
        }
        if let Some(waits_for) = waits_for(&event.r#type, payload) {
            self.waits_for = waits_for;
        }
    }

    /// Formats one line of at most `width` characters.
    pub(super) fn format(&self, elapsed: Duration, width: usize) -> String {
        let seconds = elapsed.as_secs();
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        let tokens = if self.input_tokens == 0 && self.output_tokens == 0 {
            String::new()
        } else {
            format!(", {} tokens in, {} out", self.input_tokens, self.output_tokens)
        };
        let line = format!("  [{time}{tokens}] waits for {}", self.waits_for);
        sanitize_line(&line).chars().take(width).collect()
    }
}

/// Returns what the run waits for after an event, if the event changes that.
fn waits_for(kind: &str, payload: &Value) -> Option<String> {
    let text = |name: &str| payload[name].as_str();
    let waits_for = match (kind, text("phase"), text("status")) {
        (event::TOOL_CALL, _, _) if is_tool_running(payload) => {
            return Some(format!("the tool {}", tool_name(payload)));
        }
        (event::BACKEND_STATUS, Some(event::RUN_CLAIMED | event::LEASE_RECOVERED), _) => {
            "its runner to start the turn"
        }
        (event::BACKEND_STATUS, Some("transport-disconnected"), _) => "a connection to the model",
        (event::APPROVAL_REQUESTED, _, _) => "the answer of a person",
        (event::APPROVAL_STATUS, _, _) => "the model",
        (event::RUN_STATUS, _, Some("pending")) => "a runner",
        (event::RUN_STATUS | event::COMMAND_STATUS, _, Some("cancelling")) => "its runner to stop",
        (event::COMMAND_STATUS, _, Some("running"))
        | (event::BACKEND_STATUS, Some("transport-connected"), _)
        | (event::TOOL_CALL | event::ASSISTANT_DELTA | event::ASSISTANT_MESSAGE, _, _) => "the model",
        _ => return None,
    };
    Some(waits_for.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, payload: Value) -> EventView {
        EventView {
            v: 1,
            seq: 1,
            r#type: kind.to_owned(),
            event_id: None,
            command_id: None,
            payload: Some(payload),
            erased: false,
            late: false,
            recorded_at: "2026-01-02T03:04:05Z".parse().expect("a time"),
        }
    }

    #[test]
    fn status_follows_the_events_of_a_turn() {
        let mut status = WatchStatus::default();
        let tool =
            |status: &str| json!({ "callId": "a", "toolName": "shell", "command": "make", "status": status });
        let mut lines = vec![status.format(Duration::ZERO, 80)];
        for (kind, payload) in [
            ("backend_status", json!({ "phase": "run-claimed" })),
            ("command_status", json!({ "status": "running" })),
            ("usage", json!({ "inputTokens": 1200, "outputTokens": 30 })),
            ("tool_call", tool("started")),
            ("command_output", json!({ "callId": "a", "text": "…" })),
            ("tool_call", tool("completed")),
            ("usage", json!({ "inputTokens": 1300, "outputTokens": 70 })),
            ("backend_status", json!({ "phase": "transport-disconnected" })),
        ] {
            status.update(&event(kind, payload));
            lines.push(status.format(Duration::from_secs(83), 80));
        }
        insta::assert_snapshot!(lines.join("\n"), @r"
          [0:00] waits for a runner
          [1:23] waits for its runner to start the turn
          [1:23] waits for the model
          [1:23, 1200 tokens in, 30 out] waits for the model
          [1:23, 1200 tokens in, 30 out] waits for the tool shell: make
          [1:23, 1200 tokens in, 30 out] waits for the tool shell: make
          [1:23, 1200 tokens in, 30 out] waits for the model
          [1:23, 2500 tokens in, 100 out] waits for the model
          [1:23, 2500 tokens in, 100 out] waits for a connection to the model
        ");
        assert_eq!(status.format(Duration::ZERO, 10), "  [0:00, 2");
    }
}
