//! Calls of tools on a user's device: which ones may run, when people are asked, and what is answered.

mod allowances;
mod call;
mod check;
mod headers;
mod message;
mod outcome;

pub use allowances::{ALLOWANCE_TIME, AllowanceKey, Allowances};
pub use call::{CallId, InvalidCallId, MAX_CALL_ID, ToolCall};
pub use check::{ConversationKind, DeclaredTool, PROMPT_TIMEOUT, PromptPolicy, check_call};
pub use headers::{
    CallConversation, HeaderMismatch, check_headers, claims_call, clear_subtype, is_clear_tool_message,
    tool_headers,
};
pub use message::{InvalidToolMessage, ToolMessage, ToolMessageKind, ToolResponse};
pub use outcome::{DenialReason, ToolErrorCode, ToolOutcome, ToolStatus};
