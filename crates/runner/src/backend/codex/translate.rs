//! Translates the notifications of Codex into backend events. Pure.

use guildhall_domain::runs::event::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::CodexError;
use super::item::Item;
use super::permission;
use super::reasoning::{OpenReasoning, ReasoningDelta, ReasoningText};
use super::running_calls::RunningCalls;
use crate::backend::BackendEvent;
use crate::backend::jsonl::{Reply, Translate};
use crate::backend::passthrough::{bound_payload, passthrough_event};

/// Prefix of the event types of passed-through notifications.
pub(super) const EVENT_PREFIX: &str = "codex";

/// Notifications that we do not use: redundant, or internal to the agent. Codex is told not to send these; a version
/// that sends them anyway does no harm.
pub(super) const IGNORED_NOTIFICATIONS: [&str; 11] = [
    "account/rateLimits/updated",
    "account/updated",
    "app/list/updated",
    "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/reasoning/summaryPartAdded",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/started",
    // Repeats the whole diff with every change; the runner computes its own.
    "turn/diff/updated",
];

#[derive(Debug)]
pub struct CodexTranslator {
    thread: String,
    reported: ReportedUsage,
    /// Whether a turn has started in this process.
    has_worked: bool,
    calls: RunningCalls,
    reasoning: OpenReasoning,
    /// Whether the connection to the model works, as far as Codex reported.
    is_connected: bool,
}

/// The usage of the thread that was already reported.
#[derive(Debug)]
enum ReportedUsage {
    /// A resumed thread: its usage so far was reported by an earlier process.
    Unknown,
    Total(TokenTotals),
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TokenTotals {
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeltaParams {
    item_id: String,
    delta: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenUsageParams {
    token_usage: TokenUsage,
}

#[derive(Deserialize)]
struct TokenUsage {
    total: TokenTotals,
    last: TokenTotals,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorParams {
    error: CodexError,
    will_retry: bool,
}

impl Translate for CodexTranslator {
    fn notification(&mut self, method: &str, params: Value) -> Vec<BackendEvent> {
        let events = match method {
            "item/agentMessage/delta" => {
                parse(&params).map(|delta: DeltaParams| self.text_delta(delta, &params))
            }
            "item/reasoning/summaryTextDelta" => {
                parse(&params).map(|delta| self.reasoning_delta(ReasoningText::Summary, delta, &params))
            }
            "item/reasoning/textDelta" => {
                parse(&params).map(|delta| self.reasoning_delta(ReasoningText::Content, delta, &params))
            }
            "item/commandExecution/outputDelta" => parse(&params).map(|delta| self.output_delta(delta)),
            "item/started" => Item::parse(&params["item"]).map(|item| self.item_started(&item)),
            "item/completed" => Item::parse(&params["item"]).map(|item| self.item_completed(&item, &params)),
            "thread/tokenUsage/updated" => parse(&params).map(|usage| self.usage(&usage, &params)),
            "thread/status/changed" => Some(status(&params)),
            "error" => parse(&params).map(|error| self.error(&error)),
            "warning" | "configWarning" => Some(vec![warning(&params)]),
            "turn/completed" => Some(active_time(&params)),
            "turn/started" => Some(self.turn_started()),
            // Our own action, or followed by an event that says more.
            "serverRequest/resolved" | "mcpServer/startupStatus/updated" => Some(Vec::new()),
            _ if IGNORED_NOTIFICATIONS.contains(&method) => Some(Vec::new()),
            _ => None,
        };
        events.unwrap_or_else(|| vec![passthrough_event(EVENT_PREFIX, method, params)])
    }

    fn request(&mut self, method: &str, params: Value) -> (Reply, Option<BackendEvent>) {
        let (reply, event) = permission::decline(method, params);
        (reply, Some(event))
    }
}

impl CodexTranslator {
    /// Creates a translator for a new thread, or for a resumed one.
    pub(super) fn new(is_resumed: bool) -> Self {
        let reported =
            if is_resumed { ReportedUsage::Unknown } else { ReportedUsage::Total(TokenTotals::default()) };
        Self {
            thread: String::new(),
            reported,
            has_worked: false,
            calls: RunningCalls::default(),
            reasoning: OpenReasoning::default(),
            is_connected: true,
        }
    }

    pub(super) fn set_thread(&mut self, thread: String) {
        self.thread = thread;
    }

    /// Returns whether the model responds, as far as Codex reported.
    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Discards what the last turn left incomplete.
    pub(super) fn start_turn(&mut self) {
        self.calls.clear();
        self.reasoning.clear();
    }

    fn turn_started(&mut self) -> Vec<BackendEvent> {
        self.has_worked = true;
        Vec::new()
    }

    /// Returns whether a notification is about our thread and not about one of a subagent.
    fn is_our_thread(&self, params: &Value) -> bool {
        params["threadId"].as_str().is_none_or(|thread| thread == self.thread)
    }

    fn text_delta(&mut self, delta: DeltaParams, params: &Value) -> Vec<BackendEvent> {
        let mut events = self.reconnected();
        if self.is_our_thread(params) {
            events.push(BackendEvent::TextDelta { item: delta.item_id, text: delta.delta });
        } else {
            events.push(passthrough_event(EVENT_PREFIX, "item/agentMessage/delta", params.clone()));
        }
        events
    }

    /// The reasoning of a subagent is not shown.
    fn reasoning_delta(
        &mut self,
        text: ReasoningText,
        delta: ReasoningDelta,
        params: &Value,
    ) -> Vec<BackendEvent> {
        let mut events = self.reconnected();
        if self.is_our_thread(params) {
            events.extend(self.reasoning.delta(text, delta));
        }
        events
    }

    fn output_delta(&mut self, delta: DeltaParams) -> Vec<BackendEvent> {
        self.calls.add_output(delta.item_id, delta.delta).into_iter().collect()
    }

    fn item_started(&mut self, item: &Item) -> Vec<BackendEvent> {
        let mut events = self.reconnected();
        if let Item::ToolCall(call) = item {
            events.extend(self.calls.start(call));
        }
        events
    }

    fn item_completed(&mut self, item: &Item, params: &Value) -> Vec<BackendEvent> {
        match item {
            Item::Message { id, text, is_final } if self.is_our_thread(params) => {
                vec![BackendEvent::Text { item: id.clone(), text: text.clone(), is_final: *is_final }]
            }
            Item::Reasoning(item) if self.is_our_thread(params) => self.reasoning.complete(item),
            Item::ToolCall(call) => self.calls.finish(call),
            // Our own prompt.
            Item::UserMessage => Vec::new(),
            Item::Message { .. } | Item::Reasoning(_) | Item::Unknown => {
                vec![passthrough_event(EVENT_PREFIX, "item/completed", params.clone())]
            }
        }
    }

    fn usage(&mut self, usage: &TokenUsageParams, params: &Value) -> Vec<BackendEvent> {
        let TokenUsage { total, last } = &usage.token_usage;
        // The thread of a subagent is reported once for each of its responses.
        if !self.is_our_thread(params) {
            return usage_event(*last, TokenTotals::default());
        }
        match std::mem::replace(&mut self.reported, ReportedUsage::Total(*total)) {
            // A resumed thread first reports its earlier usage.
            ReportedUsage::Unknown if !self.has_worked => Vec::new(),
            ReportedUsage::Unknown => usage_event(*last, TokenTotals::default()),
            ReportedUsage::Total(before) => usage_event(*total, before),
        }
    }

    fn error(&mut self, error: &ErrorParams) -> Vec<BackendEvent> {
        // A final error is repeated at the end of the turn.
        if !error.will_retry {
            return Vec::new();
        }
        let failure = error.error.classify();
        let mut events = vec![BackendEvent::Error { kind: failure.kind, message: failure.message }];
        if std::mem::replace(&mut self.is_connected, false) {
            events.push(transport_status("transport-disconnected"));
        }
        events
    }

    fn reconnected(&mut self) -> Vec<BackendEvent> {
        let was_connected = std::mem::replace(&mut self.is_connected, true);
        if was_connected { Vec::new() } else { vec![transport_status("transport-connected")] }
    }
}

fn parse<T: serde::de::DeserializeOwned>(params: &Value) -> Option<T> {
    T::deserialize(params).ok()
}

fn transport_status(phase: &str) -> BackendEvent {
    BackendEvent::Status { phase: phase.to_owned(), detail: Value::Null }
}

fn status(params: &Value) -> Vec<BackendEvent> {
    let phase = params["status"]["type"].as_str().unwrap_or("unknown").to_owned();
    vec![BackendEvent::Status { phase, detail: bound_payload(params["status"].clone()) }]
}

fn warning(params: &Value) -> BackendEvent {
    let message = params["message"].as_str().or_else(|| params["summary"].as_str());
    BackendEvent::Status { phase: "warning".to_owned(), detail: bound_payload(json!({ "message": message })) }
}

fn active_time(params: &Value) -> Vec<BackendEvent> {
    let active_ms = params["turn"]["durationMs"].as_u64().unwrap_or(0);
    let usage = Usage { active_ms, ..Usage::default() };
    (active_ms > 0).then_some(BackendEvent::Usage(usage)).into_iter().collect()
}

/// Returns the difference of two totals as an event, unless it is zero.
fn usage_event(now: TokenTotals, before: TokenTotals) -> Vec<BackendEvent> {
    let usage = Usage {
        input_tokens: now.input_tokens.saturating_sub(before.input_tokens),
        cached_input_tokens: now.cached_input_tokens.saturating_sub(before.cached_input_tokens),
        output_tokens: now.output_tokens.saturating_sub(before.output_tokens),
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(BackendEvent::Usage(usage)).into_iter().collect()
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
