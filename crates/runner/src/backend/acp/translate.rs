//! What an agent tells, in our own words. Pure: a notice goes in, events come out.

use std::collections::BTreeMap;

use guildhall_domain::runs::event::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::tool::{Tool, Update};
use crate::backend::BackendEvent;
use crate::backend::unknown;

/// What is told and means nothing to us: our own words that come back, and the agent's own housekeeping.
const UNWANTED: [&str; 5] = [
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "session_info_update",
    "user_message_chunk",
];

/// What agents ask of clients that have more to offer than we. It is refused like everything, and not worth a word.
const UNOFFERED: [&str; 1] = ["craft/drainMidTurnQueue"];

/// Calls that were begun and never ended are forgotten when there are so many.
const CALLS_AT_MOST: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Translator {
    thread: String,
    turns: u32,
    items: u32,
    saying: String,
    tools: BTreeMap<String, Tool>,
    spent: bool,
    signs: u64,
    waits: bool,
}

/// What an answer cost, where an agent says it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Cost {
    input_tokens: u64,
    output_tokens: u64,
    cached_read_tokens: u64,
}

impl Translator {
    /// Says which session is ours, once it has a name.
    pub(super) fn is_of(&mut self, thread: String) {
        self.thread = thread;
    }

    /// Forgets what was never finished: a new turn begins.
    pub(super) fn turn_begins(&mut self) {
        self.turns += 1;
        self.items = 0;
        self.saying.clear();
        self.tools.clear();
        self.spent = false;
        self.waits = true;
    }

    /// Tells what is left to tell when a turn has ended; `cost` is what the agent said of the whole turn.
    pub(super) fn turn_ends(&mut self, is_answer: bool, cost: &Value) -> Vec<BackendEvent> {
        let said = self.said(is_answer);
        let cost = if self.spent { None } else { usage(cost) };
        said.into_iter().chain(cost).collect()
    }

    /// Tells whether a tool is at work: then it is not the model that the agent waits for.
    pub(super) fn tool_works(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Counts the signs that the model, or a tool that it asked for, is at work.
    pub(super) fn signs(&self) -> u64 {
        self.signs
    }

    /// Tells whether the model has said nothing yet since it was asked.
    pub(super) fn waits_for_model(&self) -> bool {
        self.waits && self.tools.is_empty()
    }

    fn sign(&mut self) {
        self.signs += 1;
        self.waits = false;
    }

    pub(super) fn notice(&mut self, method: &str, params: Value) -> Vec<BackendEvent> {
        let is_ours = method == "session/update" && params["sessionId"] == self.thread.as_str();
        if !is_ours {
            return vec![other(method, params)];
        }
        let update = &params["update"];
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.says(update),
            "tool_call" | "tool_call_update" => match Update::deserialize(update) {
                Ok(update) => self.tool(update),
                Err(_) => vec![other("tool_call", params)],
            },
            "agent_thought_chunk" => {
                self.sign();
                Vec::new()
            }
            known if UNWANTED.contains(&known) => Vec::new(),
            "" => vec![other(method, params)],
            unknown => vec![other(unknown, update.clone())],
        }
    }

    /// Takes what a request for leave says of its call, and tells of the call.
    pub(super) fn asked(&mut self, call: &Value) -> Vec<BackendEvent> {
        let Ok(update) = Update::deserialize(call) else { return Vec::new() };
        let id = update.tool_call_id.clone();
        let mut events = self.tool(update);
        events.extend(self.tools.get_mut(&id).and_then(|tool| tool.begin(&id)));
        events
    }

    /// Tells of a request that was refused.
    pub(super) fn refused(method: &str, params: Value) -> Option<BackendEvent> {
        let is_worth_a_word = !UNOFFERED.contains(&method);
        is_worth_a_word
            .then(|| BackendEvent::Declined { what: method.to_owned(), detail: unknown::bounded(params) })
    }

    fn says(&mut self, update: &Value) -> Vec<BackendEvent> {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let cost = usage(&update["_meta"]["usage"]);
        self.spent |= cost.is_some();
        if !text.is_empty() {
            self.sign();
        }
        self.saying.push_str(text);
        let piece =
            (!text.is_empty()).then(|| BackendEvent::TextDelta { item: self.item(), text: text.to_owned() });
        piece.into_iter().chain(cost).collect()
    }

    fn tool(&mut self, update: Update) -> Vec<BackendEvent> {
        let call = update.tool_call_id.clone();
        self.sign();
        if self.tools.len() >= CALLS_AT_MOST {
            self.tools.clear();
        }
        // What was said before a call is an item of its own.
        let mut events: Vec<_> = self.said(false).into_iter().collect();
        let (told, has_ended) = self.tools.entry(call.clone()).or_default().update(update);
        events.extend(told);
        if has_ended {
            self.tools.remove(&call);
            // What it printed goes to the model.
            self.waits = true;
        }
        events
    }

    /// Ends the item that is being said, if there is one.
    fn said(&mut self, is_final: bool) -> Option<BackendEvent> {
        if self.saying.is_empty() {
            return None;
        }
        let (item, text) = (self.item(), std::mem::take(&mut self.saying));
        self.items += 1;
        Some(BackendEvent::Text { item, text, is_final })
    }

    fn item(&self) -> String {
        format!("t{}-m{}", self.turns, self.items + 1)
    }
}

fn usage(cost: &Value) -> Option<BackendEvent> {
    let cost = Cost::deserialize(cost).ok()?;
    let usage = Usage {
        input_tokens: cost.input_tokens,
        cached_input_tokens: cost.cached_read_tokens,
        output_tokens: cost.output_tokens,
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(BackendEvent::Usage(usage))
}

/// Passes on what we do not know.
pub(super) fn other(method: &str, payload: Value) -> BackendEvent {
    unknown::other("acp", method, payload)
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
