//! How a call of a tool ends.

use serde_json::Value;

pub use crate::failure::ToolErrorCode;
use crate::named_enum::named_enum;

named_enum! {
    /// The first member of an answer.
    ToolStatus, "tool status";
    Ok = "ok",
    Error = "error",
    Denied = "denied",
}

named_enum! {
    /// Why a call was denied.
    DenialReason, "reason of a denial";
    UserRefused = "user_refused",
    ScopeNotGranted = "scope_not_granted",
    ToolNotDeclared = "tool_not_declared",
    /// The person did not answer in time.
    UserTimeout = "user_timeout",
    NotSupportedInGroup = "tool_not_supported_in_group",
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    Done(Value),
    Failed(ToolErrorCode),
    Denied(DenialReason),
}

impl ToolOutcome {
    #[must_use]
    pub const fn status(&self) -> ToolStatus {
        match self {
            Self::Done(_) => ToolStatus::Ok,
            Self::Failed(_) => ToolStatus::Error,
            Self::Denied(_) => ToolStatus::Denied,
        }
    }
}
