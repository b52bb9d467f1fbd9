//! The items of a turn, as far as we act on them.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// What the agent says.
    Message {
        id: String,
        text: String,
        is_final: bool,
    },
    Tool(Tool),
    /// What it was told.
    Words,
    Unknown,
}

/// A call of a tool, whichever it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) call: String,
    pub(super) name: String,
    pub(super) command: Option<String>,
    pub(super) status: String,
    pub(super) exit_code: Option<i64>,
    /// All that it printed, as far as Codex has kept it.
    pub(super) printed: Option<String>,
    /// Which files it changed, without the text of the change.
    pub(super) changes: Option<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Wire {
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
        changes: Vec<Change>,
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
struct Change {
    path: String,
    kind: Value,
}

impl Item {
    /// Reads an item. None where it is of a kind that we know and yet cannot be read.
    pub(super) fn parse(item: &Value) -> Option<Self> {
        let item = match Wire::deserialize(item).ok()? {
            Wire::UserMessage {} => Self::Words,
            Wire::AgentMessage { id, text, phase } => {
                Self::Message { id, text, is_final: phase.as_deref() == Some("final_answer") }
            }
            Wire::CommandExecution { id, command, status, aggregated_output, exit_code } => {
                Self::Tool(Tool {
                    command: Some(command),
                    exit_code,
                    printed: aggregated_output,
                    ..Tool::new(id, "shell".to_owned(), status)
                })
            }
            Wire::FileChange { id, changes, status } => {
                let changes =
                    changes.into_iter().map(|change| json!({ "path": change.path, "kind": change.kind }));
                let changes = Some(Value::Array(changes.collect()));
                Self::Tool(Tool { changes, ..Tool::new(id, "apply_patch".to_owned(), status) })
            }
            Wire::McpToolCall { id, server, tool, status } => {
                Self::Tool(Tool::new(id, format!("{server}/{tool}"), status))
            }
            Wire::DynamicToolCall { id, tool, status } | Wire::CollabAgentToolCall { id, tool, status } => {
                Self::Tool(Tool::new(id, tool, status))
            }
            Wire::WebSearch { id } => {
                Self::Tool(Tool::new(id, "web_search".to_owned(), "completed".to_owned()))
            }
            Wire::Unknown => Self::Unknown,
        };
        Some(item)
    }
}

impl Tool {
    fn new(call: String, name: String, status: String) -> Self {
        Self { call, name, status, command: None, exit_code: None, printed: None, changes: None }
    }
}
