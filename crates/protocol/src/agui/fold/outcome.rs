//! How segments end, and the payloads that are shown as they are.

use guildhall_domain::runs::event::{EventContent, ParsedEvent, USAGE, Usage};

use super::journal_event::JournalEvent;
use crate::agui::event::{AguiEvent, TokenUsage, without_nulls};

/// Largest number that clients accept: JavaScript counts exactly up to it.
const MAX_COUNT: u64 = (1 << 53) - 1;

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SegmentEnd {
    Completed,
    Cancelled { message: String },
    Blocked { code: String, message: String },
    Failed { code: String, message: String },
}

impl SegmentEnd {
    /// Reads the end of a command or a run.
    pub(super) fn of(event: &JournalEvent) -> Self {
        let status = event.text("terminalStatus");
        let code = event.optional_text("failureKind").unwrap_or(status).to_owned();
        let message = |other: &str| event.optional_text("message").unwrap_or(other).to_owned();
        match status {
            "completed" => Self::Completed,
            "cancelled" => Self::Cancelled { message: message("the turn was cancelled") },
            "blocked" => Self::Blocked { code, message: message("the turn was blocked") },
            "failed" => Self::Failed { code, message: message("the turn failed") },
            _ => Self::erased(),
        }
    }

    /// The end of a turn that cannot be read any more.
    pub(super) fn erased() -> Self {
        Self::Failed { code: "erased".to_owned(), message: "how the turn ended was erased".to_owned() }
    }

    pub(super) const fn is_blocked(&self) -> bool {
        matches!(self, Self::Blocked { .. })
    }
}

pub(super) fn run_error(code: &str, message: &str, usage: Vec<TokenUsage>) -> AguiEvent {
    AguiEvent::RunError { message: message.to_owned(), code: Some(code.to_owned()), usage }
}

/// Returns the payload of an event under a name of ours.
pub(super) fn custom(name: &str, event: &JournalEvent) -> AguiEvent {
    AguiEvent::Custom {
        name: name.to_owned(),
        value: without_nulls(event.payload.clone().unwrap_or_default()),
    }
}

pub(super) fn usage(event: &JournalEvent) -> Usage {
    let payload = event.payload.clone().unwrap_or_default();
    match ParsedEvent::new(USAGE, None, &payload).content {
        EventContent::Usage(usage) => usage,
        EventContent::Assistant { .. }
        | EventContent::Delta
        | EventContent::ToolStarted { .. }
        | EventContent::ToolEnded { .. }
        | EventContent::Output { .. }
        | EventContent::Artifact { .. }
        | EventContent::Transport { .. }
        | EventContent::Terminal
        | EventContent::Other => Usage::default(),
    }
}

/// Returns the list of a run's usage; empty if nothing was used.
pub(super) fn token_usage(usage: Usage) -> Vec<TokenUsage> {
    let tokens = TokenUsage {
        input_tokens: usage.input_tokens.min(MAX_COUNT),
        output_tokens: usage.output_tokens.min(MAX_COUNT),
        cached_input_tokens: usage.cached_input_tokens.min(MAX_COUNT),
    };
    let is_used = usage.input_tokens > 0 || usage.output_tokens > 0;
    is_used.then_some(tokens).into_iter().collect()
}
