//! A call of a tool, as an agent tells of it piece by piece.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::backend::BackendEvent;
use crate::backend::output::Output;
use crate::backend::unknown::bounded;

/// What an update says of a call. What is left out has not changed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Update {
    pub(super) tool_call_id: String,
    title: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    content: Option<Vec<Value>>,
    raw_input: Value,
    raw_output: Value,
}

/// A call that has not ended.
#[derive(Debug, Default)]
pub(super) struct Tool {
    name: Option<String>,
    title: Option<String>,
    command: Option<String>,
    is_told: bool,
    printed: Option<String>,
    changes: Vec<Value>,
    output: Output,
}

impl Tool {
    /// Takes in what an update says. Returns what is to be told of it, and whether the call has ended.
    pub(super) fn update(&mut self, update: Update) -> (Vec<BackendEvent>, bool) {
        let call = update.tool_call_id;
        self.name = update.kind.or(self.name.take());
        self.title = update.title.or(self.title.take());
        self.command = command_in(&update.raw_input).or(self.command.take());
        let status = update.status.unwrap_or_default();
        let has_ended = matches!(status.as_str(), "completed" | "failed");
        let mut events = Vec::new();
        // An agent may tell of a call before it knows what the call is.
        if self.command.is_some() || !matches!(status.as_str(), "" | "pending") {
            events.extend(self.begin(&call));
        }
        if let Some(content) = update.content.filter(|content| !content.is_empty()) {
            self.changes = changes_in(&content);
            let is_for_the_model = has_ended && output_in(&update.raw_output).is_some();
            events.extend(if is_for_the_model { None } else { self.print(&call, &content) });
        }
        if has_ended {
            events.extend(self.end(call, status, &update.raw_output));
        }
        (events, has_ended)
    }

    /// Tells of the call, once: somebody waits for leave, or something has happened.
    pub(super) fn begin(&mut self, call: &str) -> Option<BackendEvent> {
        let is_new = !std::mem::replace(&mut self.is_told, true);
        is_new.then(|| BackendEvent::ToolBegan {
            call: call.to_owned(),
            tool: self.tool(),
            command: self.command.clone().or_else(|| self.title.clone()),
        })
    }

    /// Takes what the call has shown until now: all of it anew with every update.
    fn print(&mut self, call: &str, content: &[Value]) -> Option<BackendEvent> {
        let whole = content.iter().filter_map(text_of).collect::<Vec<_>>().join("\n");
        let before = self.printed.replace(whole.clone()).unwrap_or_default();
        let piece = whole.strip_prefix(before.as_str())?.to_owned();
        let text = self.output.push(piece)?;
        Some(BackendEvent::ToolOutput { call: call.to_owned(), text })
    }

    fn end(&mut self, call: String, status: String, raw_output: &Value) -> Vec<BackendEvent> {
        let told = self.printed.take();
        let (printed, pieces) = match output_in(raw_output) {
            // It stands in place of what was told until now, which was for the model.
            Some(printed) => (printed.to_owned(), Output::default()),
            None => (told.unwrap_or_default(), std::mem::take(&mut self.output)),
        };
        let is_cut = raw_output["truncated"] == true;
        let printed = match pieces.finish(&call, Some(&printed)) {
            Some(BackendEvent::ToolPrinted { call, text, truncated }) => {
                Some(BackendEvent::ToolPrinted { call, text, truncated: truncated || is_cut })
            }
            None if is_cut => {
                Some(BackendEvent::ToolPrinted { call: call.clone(), text: printed, truncated: true })
            }
            other => other,
        };
        let changed = (!self.changes.is_empty()).then(|| BackendEvent::Other {
            kind: "file_change".to_owned(),
            payload: bounded(json!({ "itemId": call, "changes": self.changes })),
        });
        let ended = BackendEvent::ToolEnded {
            tool: self.tool(),
            status,
            exit_code: raw_output["exitCode"].as_i64(),
            command: self.command.clone().or_else(|| self.title.clone()),
            call,
        };
        printed.into_iter().chain(changed).chain([ended]).collect()
    }

    /// Names the tool by its kind; what runs commands is a shell everywhere.
    fn tool(&self) -> String {
        match self.name.as_deref() {
            Some("execute") => "shell".to_owned(),
            Some(kind) => kind.to_owned(),
            None => "tool".to_owned(),
        }
    }
}

/// Returns the command in a tool's input, whether it came as one text or in words.
fn command_in(input: &Value) -> Option<String> {
    match &input["command"] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Returns what a command printed, where an agent tells that apart from what it tells its model.
fn output_in(raw_output: &Value) -> Option<&str> {
    raw_output["output"].as_str().filter(|text| !text.is_empty())
}

/// Returns which files a call changed, without the text of the change.
fn changes_in(content: &[Value]) -> Vec<Value> {
    content.iter().filter(|part| part["type"] == "diff").map(|part| json!({ "path": part["path"] })).collect()
}

fn text_of(part: &Value) -> Option<&str> {
    part["content"]["text"].as_str().filter(|_| part["type"] == "content")
}
