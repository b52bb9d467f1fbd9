//! What an application adds: how people are asked, and the tools.

use std::time::Duration;

use guildhall_domain::agents::manifest::Sensitivity;
use guildhall_domain::agents::tool_calls::ToolErrorCode;
use guildhall_domain::identity::Aid;
use serde_json::Value;

/// A question for the person at the device.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolPrompt {
    pub agent: Aid,
    pub conversation: String,
    pub tool: String,
    /// The words that the person agreed to; none where the manifest only names them.
    pub description: Option<String>,
    pub scope: String,
    pub sensitivity: Sensitivity,
    /// All of them: people decide about what runs.
    pub arguments: Value,
    /// No answer within this time is a denial.
    pub expires_in: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptAnswer {
    Allow,
    Refuse,
}

/// Asks people.
pub trait Prompts {
    /// Shows a question until it is answered. When the future is dropped, the question is over and must disappear.
    fn ask(&self, prompt: ToolPrompt) -> impl Future<Output = PromptAnswer> + Send;
}

/// A tool that may run now.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRun {
    pub agent: Aid,
    pub tool: String,
    pub arguments: Value,
}

/// Why a tool has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFailure {
    /// This device has no such tool.
    Unavailable,
    Failed,
}

impl From<ToolFailure> for ToolErrorCode {
    fn from(failure: ToolFailure) -> Self {
        match failure {
            ToolFailure::Unavailable => Self::Unavailable,
            ToolFailure::Failed => Self::PlatformError,
        }
    }
}

/// The tools of a device.
pub trait Tools {
    /// Runs a tool. When the future is dropped, the tool must stop: it took too long, or the user has revoked the grant.
    fn run(&self, run: ToolRun) -> impl Future<Output = Result<Value, ToolFailure>> + Send;
}
