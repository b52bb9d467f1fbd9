//! A run as a person watches it: text that flows, a line for each tool call, a last line.

use guildhall_domain::runs::event;
use guildhall_protocol::rest::runs::EventView;
use serde_json::Value;

use crate::output::{clean, clean_text};

/// Characters shown of what a tool does.
const TOOL_CHARS: usize = 100;

/// Remembers where the cursor is, and what of the message that is being written stands there already.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    line: Line,
    /// The message that came in pieces last, and its text so far.
    item: String,
    shown: String,
}

/// The line that the cursor is in.
#[derive(Debug, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Fresh,
    Text,
    /// A tool call that has begun; its end is written beside it.
    Tool(String),
}

impl Screen {
    /// Returns what to write for an event; it may end within a line.
    pub(crate) fn show(&mut self, event: &EventView) -> String {
        let Some(payload) = &event.payload else { return String::new() };
        match event.r#type.as_str() {
            event::ASSISTANT_DELTA => self.piece(payload),
            event::ASSISTANT_MESSAGE => self.message(payload),
            event::TOOL_CALL => self.tool(payload),
            event::TERMINAL_STATUS => self.whole_line(&ending(payload)),
            event::ERROR => self.whole_line(&format!("  error: {}", word(payload, "message"))),
            event::ARTIFACT => self.whole_line(&format!("  artifact: {}", word(payload, "name"))),
            event::BACKEND_STATUS | event::RUN_STATUS | event::COMMAND_STATUS => {
                note(payload).map_or(String::new(), |note| self.whole_line(&note))
            }
            // Output of tools and what is newer: `runs events` has it.
            _ => String::new(),
        }
    }

    /// Returns what takes the cursor to a fresh line.
    pub(crate) fn close(&mut self) -> &'static str {
        match std::mem::take(&mut self.line) {
            Line::Fresh => "",
            Line::Text | Line::Tool(_) => "\n",
        }
    }

    fn whole_line(&mut self, text: &str) -> String {
        format!("{}{}\n", self.close(), clean(text))
    }

    /// Pieces are written one after the other.
    fn piece(&mut self, payload: &Value) -> String {
        let (text, item) = (word(payload, "text"), word(payload, "itemId"));
        let goes_on = !self.shown.is_empty() && self.item == item;
        let begin = if goes_on { "" } else { self.close() };
        if !goes_on {
            item.clone_into(&mut self.item);
            self.shown.clear();
        }
        self.shown.push_str(text);
        format!("{begin}{}", self.flow(text))
    }

    /// The whole message adds only what its pieces left out.
    fn message(&mut self, payload: &Value) -> String {
        let (text, item) = (word(payload, "text"), word(payload, "itemId"));
        let goes_on = !self.shown.is_empty() && self.item == item;
        let shown = std::mem::take(&mut self.shown);
        let (begin, rest) = match text.strip_prefix(shown.as_str()).filter(|_| goes_on) {
            Some(rest) => ("", rest),
            None => (self.close(), text),
        };
        let written = self.flow(rest);
        format!("{begin}{written}{}", self.close())
    }

    fn flow(&mut self, text: &str) -> String {
        let begin = match &self.line {
            Line::Fresh | Line::Text => "",
            Line::Tool(_) => self.close(),
        };
        if !text.is_empty() {
            self.line = if text.ends_with('\n') { Line::Fresh } else { Line::Text };
        }
        format!("{begin}{}", clean_text(text))
    }

    fn tool(&mut self, payload: &Value) -> String {
        let call = tool_call(payload);
        let is_beside = self.line == Line::Tool(call.to_owned());
        let begun = if is_beside {
            String::new()
        } else {
            format!("{}{}", self.close(), clean(&format!("  tool {} ...", tool_name(payload))))
        };
        if is_under_way(payload) {
            self.line = Line::Tool(call.to_owned());
            return begun;
        }
        self.line = Line::Fresh;
        format!("{begun} {}\n", clean(&tool_status(payload)))
    }
}

/// Says what became of something: the last line of a command or a run.
pub(crate) fn ending(payload: &Value) -> String {
    let status = word(payload, "terminalStatus");
    let what = if payload["scope"] == "run" { format!("run {status}") } else { status.to_owned() };
    match (payload["failureKind"].as_str(), payload["message"].as_str()) {
        (Some(kind), Some(message)) if kind != status => format!("{what} ({kind}): {message}"),
        (_, Some(message)) => format!("{what}: {message}"),
        (_, None) => what,
    }
}

/// Returns what a tool call does, in few words.
pub(crate) fn tool_name(payload: &Value) -> String {
    let name = ["toolName", "method", "type"].into_iter().find_map(|name| payload[name].as_str());
    let command = payload["command"].as_str().map(|command| command.lines().next().unwrap_or_default());
    let text = match (name, command) {
        (Some(name), Some(command)) => format!("{name}: {command}"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => tool_call(payload).to_owned(),
    };
    text.chars().take(TOOL_CHARS).collect()
}

/// Returns where a tool call stands, with the exit code where there is one.
pub(crate) fn tool_status(payload: &Value) -> String {
    let status = payload["status"].as_str().unwrap_or("started");
    match payload["exitCode"].as_i64() {
        Some(code) => format!("{status}, exit {code}"),
        None => status.to_owned(),
    }
}

fn is_under_way(payload: &Value) -> bool {
    !matches!(event::Mark::of(event::TOOL_CALL, None, payload).what, event::What::ToolEnded { .. })
}

fn tool_call(payload: &Value) -> &str {
    payload["callId"].as_str().unwrap_or_else(|| word(payload, "itemId"))
}

/// Says what changed around a run, as far as it explains a pause.
fn note(payload: &Value) -> Option<String> {
    let runner = word(payload, "runnerId");
    match (payload["phase"].as_str(), payload["reason"].as_str(), payload["status"].as_str()) {
        (Some("run-claimed"), _, _) => Some(format!("  {runner} has the run")),
        (Some("lease-recovered"), _, _) => {
            Some(format!("  {runner} took the run over from {}", word(payload, "recoveredFrom")))
        }
        (Some("transport-disconnected"), _, _) => {
            Some("  the runner lost its connection to the model".to_owned())
        }
        (Some("transport-connected"), _, _) => {
            Some("  the runner has its connection to the model again".to_owned())
        }
        (_, Some("runner-lost"), _) => Some(format!("  {runner} was lost; the run waits for another")),
        (_, Some("released"), _) => Some(format!("  {runner} gave the run back")),
        (_, _, Some("cancelling")) => Some("  being cancelled".to_owned()),
        _ => None,
    }
}

fn word<'a>(payload: &'a Value, name: &str) -> &'a str {
    payload[name].as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
