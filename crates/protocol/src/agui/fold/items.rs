//! Texts that arrive in pieces: messages and reasoning.

use std::collections::BTreeMap;

use guildhall_domain::ids::CommandId;

use super::ids::{IdKind, item_id, item_name};
use crate::agui::event::{AguiEvent, ReasoningRole, TextRole};

/// The texts of one kind in one command, by the agent's item.
#[derive(Debug)]
pub(super) struct TextItems {
    command: CommandId,
    kind: TextKind,
    items: BTreeMap<String, TextItem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Message,
    Reasoning,
}

/// A text, and what was sent of it.
#[derive(Debug, Default)]
struct TextItem {
    /// Messages that were started for it. An interrupt ends a message, and the next piece starts another.
    started: u32,
    is_open: bool,
    sent: SentText,
}

impl TextItems {
    pub(super) const fn new(command: CommandId, kind: TextKind) -> Self {
        Self { command, kind, items: BTreeMap::new() }
    }

    /// Adds a piece of a text.
    pub(super) fn add(&mut self, item: &str, text: &str, events: &mut Vec<AguiEvent>) {
        if text.is_empty() {
            return;
        }
        let name = item_name(item);
        let state = self.items.entry(name.clone()).or_default();
        state.sent.add(text);
        let is_new = !std::mem::replace(&mut state.is_open, true);
        state.started += u32::from(is_new);
        let id = item_id(self.command, self.kind.id_kind(), state.started, &name);
        if is_new {
            self.kind.start(&id, events);
        }
        events.push(self.kind.content(id, text.to_owned()));
    }

    /// Ends a text. Sends what no piece had.
    pub(super) fn complete(&mut self, item: &str, text: &str, events: &mut Vec<AguiEvent>) {
        let name = item_name(item);
        let rest = self.items.get(&name).map_or(text, |state| state.sent.rest_of(text));
        self.add(&name, rest, events);
        if let Some(state) = self.items.get_mut(&name) {
            state.sent = SentText::default();
            if std::mem::take(&mut state.is_open) {
                self.kind.end(item_id(self.command, self.kind.id_kind(), state.started, &name), events);
            }
        }
    }

    /// Ends the open messages. Later pieces start new ones.
    pub(super) fn close(&mut self, events: &mut Vec<AguiEvent>) {
        for (name, state) in &mut self.items {
            if std::mem::take(&mut state.is_open) {
                self.kind.end(item_id(self.command, self.kind.id_kind(), state.started, name), events);
            }
        }
    }
}

impl TextKind {
    const fn id_kind(self) -> IdKind {
        match self {
            Self::Message => IdKind::Text,
            Self::Reasoning => IdKind::Reasoning,
        }
    }

    fn start(self, id: &str, events: &mut Vec<AguiEvent>) {
        let message_id = || id.to_owned();
        match self {
            Self::Message => events
                .push(AguiEvent::TextMessageStart { message_id: message_id(), role: TextRole::Assistant }),
            Self::Reasoning => {
                events.push(AguiEvent::ReasoningStart { message_id: message_id() });
                let role = ReasoningRole::Reasoning;
                events.push(AguiEvent::ReasoningMessageStart { message_id: message_id(), role });
            }
        }
    }

    fn content(self, message_id: String, delta: String) -> AguiEvent {
        match self {
            Self::Message => AguiEvent::TextMessageContent { message_id, delta },
            Self::Reasoning => AguiEvent::ReasoningMessageContent { message_id, delta },
        }
    }

    fn end(self, message_id: String, events: &mut Vec<AguiEvent>) {
        match self {
            Self::Message => events.push(AguiEvent::TextMessageEnd { message_id }),
            Self::Reasoning => {
                events.push(AguiEvent::ReasoningMessageEnd { message_id: message_id.clone() });
                events.push(AguiEvent::ReasoningEnd { message_id });
            }
        }
    }
}

/// Length and checksum (FNV-1a) of what was sent of a text, so that an open stream does not hold the text.
#[derive(Debug, Clone, Copy)]
struct SentText {
    bytes: usize,
    checksum: u64,
}

impl Default for SentText {
    fn default() -> Self {
        Self { bytes: 0, checksum: 0xcbf2_9ce4_8422_2325 }
    }
}

impl SentText {
    fn add(&mut self, text: &str) {
        self.bytes += text.len();
        for byte in text.bytes() {
            self.checksum = (self.checksum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Returns the part of the complete text that was not sent; nothing if the text starts otherwise.
    fn rest_of(self, text: &str) -> &str {
        let (Some(start), Some(rest)) = (text.get(..self.bytes), text.get(self.bytes..)) else { return "" };
        let mut sent = Self::default();
        sent.add(start);
        if sent.checksum == self.checksum { rest } else { "" }
    }
}
