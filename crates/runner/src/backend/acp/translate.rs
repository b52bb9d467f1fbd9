//! Translates the notifications of an ACP agent into backend events. Pure.

use std::collections::BTreeMap;

use guildhall_domain::runs::event::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::thought::Thoughts;
use super::tool_call::{AcpToolCall, ToolCallUpdate};
use crate::backend::BackendEvent;
use crate::backend::jsonl::{Reply, Translate};
use crate::backend::passthrough::{bound_payload, passthrough_event};

/// Prefix of the event types of passed-through notifications.
pub(super) const EVENT_PREFIX: &str = "acp";

/// Updates that we do not use: our own prompt, or internal to the agent.
const IGNORED_UPDATES: [&str; 6] = [
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "session_info_update",
    "usage_update",
    "user_message_chunk",
];

/// Notifications that we do not use: how an agent has signed in.
const IGNORED_NOTIFICATIONS: [&str; 1] = ["_auth/status_update"];

/// Requests for optional client features. They are rejected like all others, but not reported.
const UNREPORTED_REQUESTS: [&str; 1] = ["craft/drainMidTurnQueue"];

/// Limit of running tool calls; over it, all are discarded.
const MAX_TOOL_CALLS: usize = 1024;

#[derive(Debug, Default)]
pub struct AcpTranslator {
    thread: String,
    /// What the agent is told with the first prompt of the thread, until then.
    pub(super) instructions: Option<String>,
    /// Whether prompts may have images.
    pub(super) takes_images: bool,
    turns: u32,
    items: u32,
    /// The text of the current item.
    text: String,
    thoughts: Thoughts,
    tool_calls: BTreeMap<String, AcpToolCall>,
    /// Whether usage was reported in this turn.
    has_usage: bool,
    activity: u64,
    /// Whether the model has sent nothing since the last request to it.
    is_waiting: bool,
}

/// The usage in a response, if the agent reports it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TokenUsage {
    input_tokens: u64,
    output_tokens: u64,
    cached_read_tokens: u64,
}

impl Translate for AcpTranslator {
    fn notification(&mut self, method: &str, params: Value) -> Vec<BackendEvent> {
        let is_our_update = method == "session/update" && params["sessionId"] == self.thread.as_str();
        if IGNORED_NOTIFICATIONS.contains(&method) {
            return Vec::new();
        }
        if !is_our_update {
            return vec![passthrough_event(EVENT_PREFIX, method, params)];
        }
        let update = &params["update"];
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.message_chunk(update),
            "tool_call" | "tool_call_update" => match ToolCallUpdate::deserialize(update) {
                Ok(update) => self.tool_call(update),
                Err(_) => vec![passthrough_event(EVENT_PREFIX, "tool_call", params)],
            },
            "agent_thought_chunk" => self.thought_chunk(update),
            known if IGNORED_UPDATES.contains(&known) => Vec::new(),
            "" => vec![passthrough_event(EVENT_PREFIX, method, params)],
            unknown => vec![passthrough_event(EVENT_PREFIX, unknown, update.clone())],
        }
    }

    fn request(&mut self, method: &str, params: Value) -> (Reply, Option<BackendEvent>) {
        let is_reported = !UNREPORTED_REQUESTS.contains(&method);
        let event = is_reported.then(|| BackendEvent::ApprovalDeclined {
            what: method.to_owned(),
            detail: bound_payload(params),
        });
        (Reply::MethodNotFound, event)
    }
}

impl AcpTranslator {
    pub(super) fn set_thread(&mut self, thread: String) {
        self.thread = thread;
    }

    /// Discards what the last turn left incomplete.
    pub(super) fn start_turn(&mut self) {
        self.turns += 1;
        self.items = 0;
        self.text.clear();
        self.thoughts = Thoughts::default();
        self.tool_calls.clear();
        self.has_usage = false;
        self.is_waiting = true;
    }

    /// Returns the last events of a turn. `usage` is the agent's total for the turn, which counts only when there was
    /// no other report.
    pub(super) fn end_turn(&mut self, is_final: bool, usage: &Value) -> Vec<BackendEvent> {
        let thought = self.thoughts.finish(self.turns);
        let text = self.finish_item(is_final);
        let usage = if self.has_usage { None } else { usage_event(usage) };
        thought.into_iter().chain(text).chain(usage).collect()
    }

    /// Returns whether a tool runs: then the agent does not wait for the model.
    pub(super) fn is_tool_running(&self) -> bool {
        !self.tool_calls.is_empty()
    }

    /// Returns a counter of the activity of the model and its tools.
    pub(super) fn activity(&self) -> u64 {
        self.activity
    }

    /// Returns whether the agent waits for the first output of the model.
    pub(super) fn is_waiting_for_model(&self) -> bool {
        self.is_waiting && self.tool_calls.is_empty()
    }

    fn record_activity(&mut self) {
        self.activity += 1;
        self.is_waiting = false;
    }

    /// Applies the tool call of a permission request, and reports its start.
    pub(super) fn permission_requested(&mut self, tool_call: &Value) -> Vec<BackendEvent> {
        let Ok(update) = ToolCallUpdate::deserialize(tool_call) else { return Vec::new() };
        let id = update.tool_call_id.clone();
        let mut events = self.tool_call(update);
        events.extend(self.tool_calls.get_mut(&id).and_then(|call| call.report_start(&id)));
        events
    }

    fn message_chunk(&mut self, update: &Value) -> Vec<BackendEvent> {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let usage = usage_event(&update["_meta"]["usage"]);
        self.has_usage |= usage.is_some();
        if text.is_empty() {
            return usage.into_iter().collect();
        }
        self.record_activity();
        let thought = self.thoughts.finish(self.turns);
        self.text.push_str(text);
        let delta = BackendEvent::TextDelta { item: self.item_id(), text: text.to_owned() };
        thought.into_iter().chain([delta]).chain(usage).collect()
    }

    /// A thought does not end the message before it: the reply is complete in one item.
    fn thought_chunk(&mut self, update: &Value) -> Vec<BackendEvent> {
        self.record_activity();
        let text = update["content"]["text"].as_str().unwrap_or_default();
        self.thoughts.add(self.turns, text).into_iter().collect()
    }

    fn tool_call(&mut self, update: ToolCallUpdate) -> Vec<BackendEvent> {
        let id = update.tool_call_id.clone();
        self.record_activity();
        if self.tool_calls.len() >= MAX_TOOL_CALLS {
            self.tool_calls.clear();
        }
        // The text before a tool call is an item of its own.
        let thought = self.thoughts.finish(self.turns);
        let mut events: Vec<_> = thought.into_iter().chain(self.finish_item(false)).collect();
        let (updates, has_ended) = self.tool_calls.entry(id.clone()).or_default().update(update);
        events.extend(updates);
        if has_ended {
            self.tool_calls.remove(&id);
            // The agent sends the result to the model.
            self.is_waiting = true;
        }
        events
    }

    /// Ends the current text item, if there is one.
    fn finish_item(&mut self, is_final: bool) -> Option<BackendEvent> {
        if self.text.is_empty() {
            return None;
        }
        let (item, text) = (self.item_id(), std::mem::take(&mut self.text));
        self.items += 1;
        Some(BackendEvent::Text { item, text, is_final })
    }

    fn item_id(&self) -> String {
        format!("t{}-m{}", self.turns, self.items + 1)
    }
}

fn usage_event(usage: &Value) -> Option<BackendEvent> {
    let tokens = TokenUsage::deserialize(usage).ok()?;
    let usage = Usage {
        input_tokens: tokens.input_tokens,
        cached_input_tokens: tokens.cached_read_tokens,
        output_tokens: tokens.output_tokens,
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(BackendEvent::Usage(usage))
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
