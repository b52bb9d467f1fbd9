//! The items of a turn that we use.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// A message of the agent.
    Message {
        id: String,
        text: String,
        is_final: bool,
    },
    ToolCall(ToolCall),
    /// The prompt of the turn.
    UserMessage,
    Unknown,
}

/// A tool call of any kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) command: Option<String>,
    pub(super) status: String,
    pub(super) exit_code: Option<i64>,
    /// Its output, as far as Codex has kept it.
    pub(super) output: Option<String>,
    /// The files that it changed, without the diff.
    pub(super) changes: Option<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WireItem {
    UserMessage {},
    AgentMessage {
        id: String,
        text: String,
        phase: Option<String>,
    },
    CommandExecution {
        id: String,
        command: String,
        status: String,
        aggregated_output: Option<String>,
        exit_code: Option<i64>,
    },
    FileChange {
        id: String,
        changes: Vec<ChangedFile>,
        status: String,
    },
    McpToolCall {
        id: String,
        server: String,
        tool: String,
        status: String,
    },
    DynamicToolCall {
        id: String,
        tool: String,
        status: String,
    },
    CollabAgentToolCall {
        id: String,
        tool: String,
        status: String,
    },
    WebSearch {
        id: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct ChangedFile {
    path: String,
    kind: Value,
}

impl Item {
    /// Parses an item. Returns `None` for a known kind with an unexpected form.
    pub(super) fn parse(item: &Value) -> Option<Self> {
        let item = match WireItem::deserialize(item).ok()? {
            WireItem::UserMessage {} => Self::UserMessage,
            WireItem::AgentMessage { id, text, phase } => {
                Self::Message { id, text, is_final: phase.as_deref() == Some("final_answer") }
            }
            WireItem::CommandExecution { id, command, status, aggregated_output, exit_code } => {
                Self::ToolCall(ToolCall {
                    command: Some(command),
                    exit_code,
                    output: aggregated_output,
                    ..ToolCall::new(id, "shell".to_owned(), status)
                })
            }
            WireItem::FileChange { id, changes, status } => {
                let changes =
                    changes.into_iter().map(|change| json!({ "path": change.path, "kind": change.kind }));
                let changes = Some(Value::Array(changes.collect()));
                Self::ToolCall(ToolCall { changes, ..ToolCall::new(id, "apply_patch".to_owned(), status) })
            }
            WireItem::McpToolCall { id, server, tool, status } => {
                Self::ToolCall(ToolCall::new(id, format!("{server}/{tool}"), status))
            }
            WireItem::DynamicToolCall { id, tool, status }
            | WireItem::CollabAgentToolCall { id, tool, status } => {
                Self::ToolCall(ToolCall::new(id, tool, status))
            }
            WireItem::WebSearch { id } => {
                Self::ToolCall(ToolCall::new(id, "web_search".to_owned(), "completed".to_owned()))
            }
            WireItem::Unknown => Self::Unknown,
        };
        Some(item)
    }
}

impl ToolCall {
    fn new(id: String, tool: String, status: String) -> Self {
        Self { id, tool, status, command: None, exit_code: None, output: None, changes: None }
    }
}
