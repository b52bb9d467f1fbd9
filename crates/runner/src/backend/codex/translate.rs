//! What Codex tells, in our own words. Pure: a notice goes in, events come out.

use std::collections::BTreeMap;

use guildhall_domain::runs::event::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::item::Item;
use super::trouble::Trouble;
use crate::backend::BackendEvent;
use crate::backend::output::Output;
use crate::backend::unknown::{self, bounded};

/// What is told and means nothing to us: said otherwise, or the agent's own housekeeping. Codex is asked to leave these
/// out; a version that sends them still does no harm.
pub(super) const UNWANTED: [&str; 13] = [
    "account/rateLimits/updated",
    "account/updated",
    "app/list/updated",
    "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/started",
    // The whole difference anew with every change; the runner makes its own.
    "turn/diff/updated",
];

#[derive(Debug)]
pub(super) struct Translator {
    thread: String,
    spent: Spent,
    has_worked: bool,
    outputs: BTreeMap<String, Output>,
    connected: bool,
}

/// What the thread had cost when we last reported.
#[derive(Debug)]
enum Spent {
    /// A thread from before: its costs until now are not ours to report again.
    Unknown,
    Until(Totals),
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Totals {
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta {
    item_id: String,
    delta: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenUsage {
    token_usage: Sums,
}

#[derive(Deserialize)]
struct Sums {
    total: Totals,
    last: Totals,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorNotice {
    error: Trouble,
    will_retry: bool,
}

impl Translator {
    /// Begins with a thread that has cost nothing yet, or one that is taken up again.
    pub(super) fn new(is_resumed: bool) -> Self {
        let spent = if is_resumed { Spent::Unknown } else { Spent::Until(Totals::default()) };
        Self { thread: String::new(), spent, has_worked: false, outputs: BTreeMap::new(), connected: true }
    }

    /// Says which thread is ours, once it has a name.
    pub(super) fn is_of(&mut self, thread: String) {
        self.thread = thread;
    }

    /// Tells whether the model answers, as far as Codex has said.
    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    /// Forgets what was never finished: a new turn begins.
    pub(super) fn turn_begins(&mut self) {
        self.outputs.clear();
    }

    pub(super) fn notice(&mut self, method: &str, params: Value) -> Vec<BackendEvent> {
        let known = match method {
            "item/agentMessage/delta" => parsed(&params).map(|delta: Delta| self.said(delta, &params)),
            "item/commandExecution/outputDelta" => parsed(&params).map(|delta| self.printed(delta)),
            "item/started" => Item::parse(&params["item"]).map(|item| self.begun(&item)),
            "item/completed" => Item::parse(&params["item"]).map(|item| self.completed(&item, &params)),
            "thread/tokenUsage/updated" => parsed(&params).map(|usage| self.usage(&usage, &params)),
            "thread/status/changed" => Some(status(&params)),
            "error" => parsed(&params).map(|error| self.error(&error)),
            "warning" | "configWarning" => Some(vec![warning(&params)]),
            "turn/completed" => Some(active(&params)),
            "turn/started" => Some(self.turn_started()),
            // Ours, or said by what follows.
            "serverRequest/resolved" | "mcpServer/startupStatus/updated" => Some(Vec::new()),
            _ if UNWANTED.contains(&method) => Some(Vec::new()),
            _ => None,
        };
        known.unwrap_or_else(|| vec![other(method, params)])
    }

    fn turn_started(&mut self) -> Vec<BackendEvent> {
        self.has_worked = true;
        Vec::new()
    }

    fn is_ours(&self, params: &Value) -> bool {
        params["threadId"].as_str().is_none_or(|thread| thread == self.thread)
    }

    fn said(&mut self, delta: Delta, params: &Value) -> Vec<BackendEvent> {
        let mut events = self.reconnected();
        if self.is_ours(params) {
            events.push(BackendEvent::TextDelta { item: delta.item_id, text: delta.delta });
        } else {
            events.push(other("item/agentMessage/delta", params.clone()));
        }
        events
    }

    fn printed(&mut self, delta: Delta) -> Vec<BackendEvent> {
        let piece = self.outputs.entry(delta.item_id.clone()).or_default().push(delta.delta);
        piece.map(|text| BackendEvent::ToolOutput { call: delta.item_id, text }).into_iter().collect()
    }

    fn begun(&mut self, item: &Item) -> Vec<BackendEvent> {
        let mut events = self.reconnected();
        if let Item::Tool(tool) = item {
            self.outputs.insert(tool.call.clone(), Output::default());
            events.push(BackendEvent::ToolBegan {
                call: tool.call.clone(),
                tool: tool.name.clone(),
                command: tool.command.clone(),
            });
        }
        events
    }

    fn completed(&mut self, item: &Item, params: &Value) -> Vec<BackendEvent> {
        match item {
            Item::Message { id, text, is_final } if self.is_ours(params) => {
                vec![BackendEvent::Text { item: id.clone(), text: text.clone(), is_final: *is_final }]
            }
            Item::Tool(tool) => {
                let output = self.outputs.remove(&tool.call).unwrap_or_default();
                let printed = output.finish(&tool.call, tool.printed.as_deref());
                let changed = tool.changes.clone().map(|changes| BackendEvent::Other {
                    kind: "file_change".to_owned(),
                    payload: bounded(json!({ "itemId": tool.call, "changes": changes })),
                });
                let ended = BackendEvent::ToolEnded {
                    call: tool.call.clone(),
                    tool: tool.name.clone(),
                    status: tool.status.clone(),
                    exit_code: tool.exit_code,
                    command: tool.command.clone(),
                };
                printed.into_iter().chain(changed).chain([ended]).collect()
            }
            // Our own words come back; we know them.
            Item::Words => Vec::new(),
            Item::Message { .. } | Item::Unknown => vec![other("item/completed", params.clone())],
        }
    }

    fn usage(&mut self, usage: &TokenUsage, params: &Value) -> Vec<BackendEvent> {
        let Sums { total, last } = &usage.token_usage;
        // What a thread of its own costs, one of another agent's making, comes once for each answer.
        if !self.is_ours(params) {
            return cost(*last, Totals::default());
        }
        match std::mem::replace(&mut self.spent, Spent::Until(*total)) {
            // A resumed thread first tells what it has cost until then, which was reported by somebody else.
            Spent::Unknown if !self.has_worked => Vec::new(),
            Spent::Unknown => cost(*last, Totals::default()),
            Spent::Until(before) => cost(*total, before),
        }
    }

    fn error(&mut self, error: &ErrorNotice) -> Vec<BackendEvent> {
        // What is final comes again with the end of the turn.
        if !error.will_retry {
            return Vec::new();
        }
        let failure = error.error.classify();
        let mut events = vec![BackendEvent::Error { kind: failure.kind, message: failure.message }];
        if std::mem::replace(&mut self.connected, false) {
            events.push(transport("transport-disconnected"));
        }
        events
    }

    fn reconnected(&mut self) -> Vec<BackendEvent> {
        let was_connected = std::mem::replace(&mut self.connected, true);
        if was_connected { Vec::new() } else { vec![transport("transport-connected")] }
    }
}

fn parsed<T: serde::de::DeserializeOwned>(params: &Value) -> Option<T> {
    T::deserialize(params).ok()
}

fn transport(phase: &str) -> BackendEvent {
    BackendEvent::Status { phase: phase.to_owned(), detail: Value::Null }
}

fn status(params: &Value) -> Vec<BackendEvent> {
    let phase = params["status"]["type"].as_str().unwrap_or("unknown").to_owned();
    vec![BackendEvent::Status { phase, detail: bounded(params["status"].clone()) }]
}

fn warning(params: &Value) -> BackendEvent {
    let words = params["message"].as_str().or_else(|| params["summary"].as_str());
    BackendEvent::Status { phase: "warning".to_owned(), detail: bounded(json!({ "message": words })) }
}

fn active(params: &Value) -> Vec<BackendEvent> {
    let active_ms = params["turn"]["durationMs"].as_u64().unwrap_or(0);
    let usage = Usage { active_ms, ..Usage::default() };
    (active_ms > 0).then_some(BackendEvent::Usage(usage)).into_iter().collect()
}

fn cost(now: Totals, before: Totals) -> Vec<BackendEvent> {
    let usage = Usage {
        input_tokens: now.input_tokens.saturating_sub(before.input_tokens),
        cached_input_tokens: now.cached_input_tokens.saturating_sub(before.cached_input_tokens),
        output_tokens: now.output_tokens.saturating_sub(before.output_tokens),
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(BackendEvent::Usage(usage)).into_iter().collect()
}

/// Passes on what we do not know.
pub(super) fn other(method: &str, payload: Value) -> BackendEvent {
    unknown::other("codex", method, payload)
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
