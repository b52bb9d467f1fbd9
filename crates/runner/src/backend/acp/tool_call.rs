//! A tool call, as an agent reports it in updates.

use serde::Deserialize;
use serde_json::{Value, json};

use super::claude;
use crate::backend::BackendEvent;
use crate::backend::arguments::arguments_object;
use crate::backend::passthrough::bound_payload;
use crate::backend::tool_output::ToolOutputBuffer;

/// An update of a tool call. A missing field has not changed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ToolCallUpdate {
    pub(super) tool_call_id: String,
    title: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    content: Option<Vec<Value>>,
    raw_input: Value,
    raw_output: Value,
    locations: Value,
    #[serde(rename = "_meta")]
    meta: Value,
}

/// A running tool call.
#[derive(Debug, Default)]
pub(super) struct AcpToolCall {
    kind: Option<String>,
    title: Option<String>,
    command: Option<String>,
    /// The input of the tool; null until it is known.
    input: Value,
    /// The files that the call works on.
    locations: Vec<Value>,
    is_reported: bool,
    /// The arguments that were reported.
    reported: Option<Value>,
    content_text: Option<String>,
    changes: Vec<Value>,
    output: ToolOutputBuffer,
}

impl AcpToolCall {
    /// Applies an update. Returns the events to report, and whether the call has ended.
    pub(super) fn update(&mut self, update: ToolCallUpdate) -> (Vec<BackendEvent>, bool) {
        let id = update.tool_call_id;
        self.kind = update.kind.or(self.kind.take());
        self.title = update.title.or(self.title.take());
        self.command = command_in(&update.raw_input).or(self.command.take());
        if let Value::Array(locations) = update.locations {
            self.locations = locations;
        }
        if !update.raw_input.is_null() {
            self.input = update.raw_input;
        }
        let status = update.status.unwrap_or_default();
        let has_ended = matches!(status.as_str(), "completed" | "failed");
        let mut events = Vec::new();
        // An agent may announce a call before its input is known.
        if self.command.is_some() || !matches!(status.as_str(), "" | "pending") {
            events.extend(self.report_start(&id));
        }
        let is_claude = update.meta["claudeCode"].is_object();
        if let Some(content) = update.content.filter(|content| !content.is_empty()) {
            self.changes = changed_files(&content);
            let is_for_model = has_ended && command_output(&update.raw_output).is_some();
            let text = content.iter().filter_map(text_in).collect::<Vec<_>>().join("\n");
            events.extend(match is_claude {
                _ if is_for_model => None,
                // Before the end it is a description of the call.
                true if !has_ended => None,
                true => self.update_content(&id, claude::without_fence(&text)),
                false => self.update_content(&id, &text),
            });
        }
        if has_ended {
            events.extend(self.finish(id, status, &update.raw_output));
        }
        (events, has_ended)
    }

    /// Returns the start event, once per call.
    pub(super) fn report_start(&mut self, id: &str) -> Option<BackendEvent> {
        if std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        self.reported = self.arguments();
        Some(BackendEvent::ToolStarted {
            call: id.to_owned(),
            tool: self.tool_name(),
            command: self.command_or_title(),
            arguments: self.reported.clone(),
        })
    }

    /// Updates the content, which every update repeats from the start. Returns the new part as output.
    fn update_content(&mut self, id: &str, text: &str) -> Option<BackendEvent> {
        let before = self.content_text.replace(text.to_owned()).unwrap_or_default();
        let chunk = text.strip_prefix(before.as_str())?.to_owned();
        let text = self.output.push(chunk)?;
        Some(BackendEvent::ToolOutput { call: id.to_owned(), text })
    }

    fn finish(&mut self, id: String, status: String, raw_output: &Value) -> Vec<BackendEvent> {
        let content_text = self.content_text.take();
        let (text, chunks) = match command_output(raw_output) {
            // It replaces the content so far, which was for the model.
            Some(output) => (output.to_owned(), ToolOutputBuffer::default()),
            None => (content_text.unwrap_or_default(), std::mem::take(&mut self.output)),
        };
        let is_truncated = raw_output["truncated"] == true || claude::is_truncated(raw_output);
        let output = match chunks.finish(&id, Some(&text)) {
            Some(BackendEvent::ToolFullOutput { call, text, truncated }) => {
                Some(BackendEvent::ToolFullOutput { call, text, truncated: truncated || is_truncated })
            }
            None if is_truncated => {
                Some(BackendEvent::ToolFullOutput { call: id.clone(), text, truncated: true })
            }
            other => other,
        };
        let changes = (!self.changes.is_empty()).then(|| BackendEvent::Other {
            kind: "file_change".to_owned(),
            payload: bound_payload(json!({ "itemId": id, "changes": self.changes })),
        });
        let finished = BackendEvent::ToolFinished {
            tool: self.tool_name(),
            status,
            exit_code: raw_output["exitCode"].as_i64(),
            command: self.command_or_title(),
            arguments: self.arguments().filter(|arguments| Some(arguments) != self.reported.as_ref()),
            call: id,
        };
        output.into_iter().chain(changes).chain([finished]).collect()
    }

    /// Returns the kind of the call; `execute` is called `shell` as in other backends.
    fn tool_name(&self) -> String {
        match self.kind.as_deref() {
            Some("execute") => "shell".to_owned(),
            Some(kind) => kind.to_owned(),
            None => "tool".to_owned(),
        }
    }

    /// Returns the input, with what the agent says about the call. A field of the input has priority.
    fn arguments(&self) -> Option<Value> {
        let mut arguments = arguments_object(self.input.clone());
        let fields = arguments.as_object_mut()?;
        let texts = [("title", &self.title), ("kind", &self.kind)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, json!(text.as_ref()?))));
        let locations = (!self.locations.is_empty()).then(|| ("locations", json!(self.locations)));
        for (name, value) in texts.chain(locations) {
            fields.entry(name).or_insert(value);
        }
        (!fields.is_empty()).then_some(arguments)
    }

    fn command_or_title(&self) -> Option<String> {
        self.command.clone().or_else(|| self.title.clone())
    }
}

/// Returns the command in a tool's input, which is a string or a list of arguments.
fn command_in(input: &Value) -> Option<String> {
    match &input["command"] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Returns the output of a command, if the agent reports it separately from the content for its model.
fn command_output(raw_output: &Value) -> Option<&str> {
    raw_output["output"].as_str().filter(|text| !text.is_empty())
}

/// Returns the files that a call changed, without the diff.
fn changed_files(content: &[Value]) -> Vec<Value> {
    content.iter().filter(|part| part["type"] == "diff").map(|part| json!({ "path": part["path"] })).collect()
}

fn text_in(part: &Value) -> Option<&str> {
    part["content"]["text"].as_str().filter(|_| part["type"] == "content")
}
