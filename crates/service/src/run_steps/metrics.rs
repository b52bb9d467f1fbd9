//! Counts what runs do: once per event, where it is appended.

use guildhall_domain::journal::AppendedEntry;
use guildhall_domain::runs::TerminalStatus;
use guildhall_domain::runs::event::EventContent;
use guildhall_store::journal::NewEntry;
use jiff::SignedDuration;
use metrics::{counter, histogram};

/// What is counted of an event of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventCount {
    Tokens { input: u64, output: u64 },
    ToolCall,
    Nothing,
}

impl EventCount {
    pub(crate) fn of(entry: &NewEntry) -> Self {
        match entry.parsed_event.as_ref().map(|parsed| &parsed.content) {
            Some(EventContent::Usage(usage)) => {
                Self::Tokens { input: usage.input_tokens, output: usage.output_tokens }
            }
            // Some agents report a call only when it has ended.
            Some(EventContent::ToolEnded { .. }) => Self::ToolCall,
            Some(_) | None => Self::Nothing,
        }
    }

    /// Counts the event, unless it was appended before.
    pub(crate) fn record(self, appended: AppendedEntry) {
        match (appended, self) {
            (AppendedEntry::New(_), Self::Tokens { input, output }) => {
                counter!("guildhall_model_tokens_total", "direction" => "input").increment(input);
                counter!("guildhall_model_tokens_total", "direction" => "output").increment(output);
            }
            (AppendedEntry::New(_), Self::ToolCall) => counter!("guildhall_tool_calls_total").increment(1),
            (AppendedEntry::New(_), Self::Nothing) | (AppendedEntry::Replayed(_), _) => {}
        }
    }
}

/// A command that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedCommand {
    pub(crate) status: TerminalStatus,
    /// From the acknowledgement of a turn to its end.
    pub(crate) duration: Option<SignedDuration>,
    /// From the acknowledgement of a turn to the first text of the model.
    pub(crate) first_token_after: Option<SignedDuration>,
}

impl EndedCommand {
    /// Counts the command. Call it after the commit.
    pub(crate) fn record(self) {
        counter!("guildhall_commands_total", "outcome" => self.status.as_str()).increment(1);
        if let Some(duration) = self.duration {
            histogram!("guildhall_command_seconds").record(duration.as_secs_f64().max(0.0));
        }
        if let Some(after) = self.first_token_after {
            histogram!("guildhall_first_token_seconds").record(after.as_secs_f64().max(0.0));
        }
    }
}
