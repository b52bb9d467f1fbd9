//! Tool calls that have started and not ended.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::item::CodexToolCall;
use crate::backend::BackendEvent;
use crate::backend::passthrough::bound_payload;
use crate::backend::tool_output::ToolOutputBuffer;

#[derive(Debug, Default)]
pub(super) struct RunningCalls(BTreeMap<String, RunningCall>);

#[derive(Debug, Default)]
struct RunningCall {
    output: ToolOutputBuffer,
    /// The arguments that were reported.
    arguments: Option<Value>,
    /// Whether the start is reported with the end, because the arguments are not known before.
    is_start_pending: bool,
}

impl RunningCalls {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the start of a call, unless its arguments follow with its end.
    pub(super) fn start(&mut self, call: &CodexToolCall) -> Option<BackendEvent> {
        let arguments = call.arguments.clone();
        let is_start_pending = arguments.is_none();
        let running = RunningCall { arguments, is_start_pending, ..RunningCall::default() };
        self.0.insert(call.id.clone(), running);
        (!is_start_pending).then(|| tool_started(call))
    }

    /// Adds a chunk of output. Returns the part of it that is within the limit.
    pub(super) fn add_output(&mut self, call: String, chunk: String) -> Option<BackendEvent> {
        let text = self.0.entry(call.clone()).or_default().output.push(chunk)?;
        Some(BackendEvent::ToolOutput { call, text })
    }

    /// Returns the last events of a call.
    pub(super) fn finish(&mut self, call: &CodexToolCall) -> Vec<BackendEvent> {
        let running = self.0.remove(&call.id).unwrap_or_default();
        let started = running.is_start_pending.then(|| tool_started(call));
        let is_reported = started.is_some() || running.arguments == call.arguments;
        let output = running.output.finish(&call.id, call.output.as_deref());
        let changes = call.changes.clone().map(|changes| BackendEvent::Other {
            kind: "file_change".to_owned(),
            payload: bound_payload(json!({ "itemId": call.id, "changes": changes })),
        });
        let finished = BackendEvent::ToolFinished {
            call: call.id.clone(),
            tool: call.tool.clone(),
            status: call.status.clone(),
            exit_code: call.exit_code,
            command: call.command.clone(),
            arguments: call.arguments.clone().filter(|_| !is_reported),
        };
        started.into_iter().chain(output).chain(changes).chain([finished]).collect()
    }
}

fn tool_started(call: &CodexToolCall) -> BackendEvent {
    BackendEvent::ToolStarted {
        call: call.id.clone(),
        tool: call.tool.clone(),
        command: call.command.clone(),
        arguments: call.arguments.clone(),
    }
}
