//! Questions of an agent as interrupts.

use guildhall_domain::approvals::question::QuestionKind;
use serde_json::{Value, json};

use super::calls::ToolCalls;
use super::journal_event::JournalEvent;
use crate::agui::event::{Interrupt, InterruptReason};

/// Returns the interrupt for a question. The event does not have the question itself, which may hold secrets:
/// [`Interrupt::describe`] adds it for readers who may see it.
pub(super) fn interrupt(event: &JournalEvent, id: &str, calls: &ToolCalls) -> Interrupt {
    let tool = event.optional_text("tool").unwrap_or("a tool");
    let kind = QuestionKind::from_name(event.text("kind")).unwrap_or(QuestionKind::ToolCall);
    let (reason, message) = match kind {
        QuestionKind::Command
        | QuestionKind::FileChange
        | QuestionKind::Permissions
        | QuestionKind::McpTool
        | QuestionKind::ToolCall => (InterruptReason::ToolCall, format!("Allow the agent to use {tool}?")),
        QuestionKind::Plan => (InterruptReason::Confirmation, "Accept the plan of the agent?".to_owned()),
        QuestionKind::Question | QuestionKind::ElicitationForm | QuestionKind::ElicitationUrl => {
            (InterruptReason::InputRequired, "The agent has a question.".to_owned())
        }
    };
    Interrupt {
        id: id.to_owned(),
        reason,
        message,
        tool_call_id: event.optional_text("callId").and_then(|call| calls.running_id(call)),
        response_schema: response_schema(reason),
        expires_at: event.optional_text("expiresAt").map(str::to_owned),
        metadata: None,
    }
}

fn response_schema(reason: InterruptReason) -> Value {
    match reason {
        InterruptReason::ToolCall | InterruptReason::Confirmation => json!({
            "type": "object",
            "properties": { "approved": { "type": "boolean" }, "optionId": { "type": "string" } },
            "required": ["approved"],
        }),
        InterruptReason::InputRequired => json!({
            "type": "object",
            "properties": {
                "approved": { "type": "boolean" },
                "optionId": { "type": "string" },
                "content": { "type": "object" },
            },
        }),
    }
}
