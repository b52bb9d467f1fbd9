//! Tool calls and their output.

use std::collections::BTreeMap;

use guildhall_domain::ids::CommandId;
use serde_json::{Value, json};

use super::ids::{IdKind, item_id, item_name};
use super::journal_event::JournalEvent;
use crate::agui::event::{AguiEvent, ToolRole};

/// Bytes of output in one result. A stream holds this much for each running call.
const MAX_RESULT_BYTES: usize = 32 * 1024;

/// Statuses of a call that has not ended, as results read them.
const RUNNING: [&str; 4] = ["started", "running", "in_progress", "inProgress"];

/// The tool calls of one command, by the agent's id.
#[derive(Debug)]
pub(super) struct ToolCalls {
    command: CommandId,
    calls: BTreeMap<String, ToolCall>,
}

#[derive(Debug, Default)]
struct ToolCall {
    /// Calls that were started under this id.
    started: u32,
    is_running: bool,
    output: String,
    is_cut: bool,
}

impl ToolCalls {
    pub(super) const fn new(command: CommandId) -> Self {
        Self { command, calls: BTreeMap::new() }
    }

    /// Applies the start or the end of a call.
    pub(super) fn update(&mut self, event: &JournalEvent, events: &mut Vec<AguiEvent>) {
        let name = call_name(event);
        let status = event.text("status");
        let call = self.calls.entry(name.clone()).or_default();
        if !std::mem::replace(&mut call.is_running, true) {
            call.started += 1;
            start(item_id(self.command, IdKind::Call, call.started, &name), event, events);
        }
        if !status.is_empty() && !RUNNING.contains(&status) {
            let exit_code = event.field("exitCode").and_then(Value::as_i64);
            let is_cut = event.field("outputDroppedBytes").and_then(Value::as_u64).is_some_and(|n| n > 0);
            call.is_cut |= is_cut;
            let note = match exit_code {
                Some(0) => None,
                Some(code) => Some(format!("[exit code {code}]")),
                None if ["completed", "success", "ok"].contains(&status) => None,
                None => Some(format!("[{}]", item_name(status))),
            };
            events.push(call.end(self.command, &name, note.as_deref()));
        }
    }

    /// Adds output to the result of a call.
    pub(super) fn add_output(&mut self, event: &JournalEvent) {
        let Some(call) = self.calls.get_mut(&call_name(event)).filter(|call| call.is_running) else { return };
        if event.flag("whole") {
            call.output.clear();
            call.is_cut = false;
        }
        call.is_cut |= event.flag("outputTruncated");
        let text = event.text("text");
        let cut = text.floor_char_boundary(MAX_RESULT_BYTES.saturating_sub(call.output.len()));
        call.is_cut |= cut < text.len();
        call.output.push_str(&text[..cut]);
    }

    /// Ends the calls that have no result when their command ends. Clients would take them for calls of their own tools.
    pub(super) fn end_all(&mut self, events: &mut Vec<AguiEvent>) {
        for (name, call) in self.calls.iter_mut().filter(|(_, call)| call.is_running) {
            events.push(call.end(self.command, name, Some("[the call did not end]")));
        }
    }

    /// Returns the id that a running call has in the stream.
    pub(super) fn running_id(&self, call: &str) -> Option<String> {
        let name = item_name(call);
        let call = self.calls.get(&name).filter(|call| call.is_running)?;
        Some(item_id(self.command, IdKind::Call, call.started, &name))
    }
}

impl ToolCall {
    fn end(&mut self, command: CommandId, name: &str, note: Option<&str>) -> AguiEvent {
        let mut content = std::mem::take(&mut self.output);
        let cut = std::mem::take(&mut self.is_cut).then_some("[output cut]");
        self.is_running = false;
        for note in [cut, note].into_iter().flatten() {
            if !content.is_empty() && !content.ends_with('\n') {
                content.push('\n');
            }
            content.push_str(note);
        }
        AguiEvent::ToolCallResult {
            message_id: item_id(command, IdKind::CallResult, self.started, name),
            tool_call_id: item_id(command, IdKind::Call, self.started, name),
            content,
            role: ToolRole::Tool,
        }
    }
}

fn call_name(event: &JournalEvent) -> String {
    item_name(event.optional_text("callId").unwrap_or_else(|| event.text("itemId")))
}

/// The whole call at once: agents report it when its arguments are complete.
fn start(tool_call_id: String, event: &JournalEvent, events: &mut Vec<AguiEvent>) {
    let arguments = match (event.field("arguments"), event.optional_text("command")) {
        (Some(arguments @ Value::Object(_)), _) => arguments.clone(),
        (None | Some(Value::Null), Some(command)) => json!({ "command": command }),
        (None | Some(Value::Null), None) => json!({}),
        // Clients expect an object.
        (Some(arguments), _) => json!({ "input": arguments }),
    };
    let tool_call_name = event.optional_text("toolName").unwrap_or("tool").to_owned();
    events.push(AguiEvent::ToolCallStart { tool_call_id: tool_call_id.clone(), tool_call_name });
    let delta = arguments.to_string();
    events.push(AguiEvent::ToolCallArgs { tool_call_id: tool_call_id.clone(), delta });
    events.push(AguiEvent::ToolCallEnd { tool_call_id });
}
