//! Decides about the calls that agents make of a device's tools.
//!
//! A [`Guard`] takes a call through the whole chain, in this order: the tool is declared in the manifest that the user agreed to;
//! its scope is granted; the arguments match the input schema; a person is asked, as the sensitivity of the scope demands; the
//! tool runs; the audit log says what happened, without the arguments. Whatever fails, the tool does not run.
//!
//! The guard decides with what the user has granted on this device, not with what the server says about a call.

mod agent_shares;
mod audit_entry;
mod audit_log;
mod error;
mod grant;
mod guarded;
mod handled_calls;
mod parts;
#[cfg(test)]
mod tests;

pub use audit_entry::{AUDIT_TIME, AuditStatus, ToolAuditEntry};
pub use audit_log::{AuditLog, read_audit_entries};
pub use error::{AuditLogError, GuardError, InvalidGrant};
pub use grant::ToolGrant;
pub use guarded::{Guard, MAX_RESULT_BYTES, ReceivedCall};
pub use parts::{PromptAnswer, Prompts, ToolFailure, ToolPrompt, ToolRun, Tools};
