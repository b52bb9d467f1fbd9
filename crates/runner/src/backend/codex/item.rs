//! The items of a turn that we use.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::backend::arguments::arguments_object;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// A message of the agent.
    Message {
        id: String,
        text: String,
        is_final: bool,
    },
    Reasoning(ReasoningItem),
    ToolCall(CodexToolCall),
    /// The prompt of the turn.
    UserMessage,
    Unknown,
}

/// A text of the model's reasoning. Most providers send the summary only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReasoningItem {
    pub(super) id: String,
    /// The parts of the summary.
    pub(super) summary: Vec<String>,
    /// The parts of the reasoning itself.
    pub(super) content: Vec<String>,
}

/// A tool call of any kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CodexToolCall {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) command: Option<String>,
    /// All arguments, as an object. None if they follow with the end of the call.
    pub(super) arguments: Option<Value>,
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
    Reasoning {
        id: String,
        #[serde(default)]
        summary: Vec<String>,
        #[serde(default)]
        content: Vec<String>,
    },
    CommandExecution {
        id: String,
        command: String,
        cwd: Option<String>,
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
        #[serde(default)]
        arguments: Value,
        status: String,
    },
    DynamicToolCall {
        id: String,
        tool: String,
        #[serde(default)]
        arguments: Value,
        status: String,
    },
    CollabAgentToolCall {
        id: String,
        tool: String,
        prompt: Option<String>,
        model: Option<String>,
        status: String,
    },
    WebSearch {
        id: String,
        #[serde(default)]
        query: String,
        #[serde(default)]
        action: Value,
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
            WireItem::Reasoning { id, summary, content } => {
                Self::Reasoning(ReasoningItem { id, summary, content })
            }
            WireItem::CommandExecution { id, command, cwd, status, aggregated_output, exit_code } => {
                let arguments = without_nulls(json!({ "command": command, "cwd": cwd }));
                Self::ToolCall(CodexToolCall {
                    command: Some(command),
                    exit_code,
                    output: aggregated_output,
                    ..CodexToolCall::new(id, "shell", status, Some(arguments))
                })
            }
            WireItem::FileChange { id, changes, status } => {
                let changes =
                    changes.into_iter().map(|change| json!({ "path": change.path, "kind": change.kind }));
                let changes = Value::Array(changes.collect());
                let arguments = json!({ "changes": changes });
                let call = CodexToolCall::new(id, "apply_patch", status, Some(arguments));
                Self::ToolCall(CodexToolCall { changes: Some(changes), ..call })
            }
            WireItem::McpToolCall { id, server, tool, arguments, status } => {
                let arguments = Some(arguments_object(arguments));
                Self::ToolCall(CodexToolCall::new(id, &format!("{server}/{tool}"), status, arguments))
            }
            WireItem::DynamicToolCall { id, tool, arguments, status } => {
                Self::ToolCall(CodexToolCall::new(id, &tool, status, Some(arguments_object(arguments))))
            }
            WireItem::CollabAgentToolCall { id, tool, prompt, model, status } => {
                let arguments = without_nulls(json!({ "prompt": prompt, "model": model }));
                Self::ToolCall(CodexToolCall::new(id, &tool, status, Some(arguments)))
            }
            WireItem::WebSearch { id, query, action } => {
                let arguments = search_arguments(query, action);
                Self::ToolCall(CodexToolCall::new(id, "web_search", "completed".to_owned(), arguments))
            }
            WireItem::Unknown => Self::Unknown,
        };
        Some(item)
    }
}

impl CodexToolCall {
    fn new(id: String, tool: &str, status: String, arguments: Option<Value>) -> Self {
        let tool = tool.to_owned();
        Self { id, tool, status, arguments, command: None, exit_code: None, output: None, changes: None }
    }
}

/// Returns what is searched for. A search starts without a query, and an action of an unknown type.
fn search_arguments(query: String, action: Value) -> Option<Value> {
    let action = Some(action).filter(|action| !action.is_null() && action["type"] != "other");
    let query = Some(query).filter(|query| !query.is_empty());
    (query.is_some() || action.is_some()).then(|| without_nulls(json!({ "query": query, "action": action })))
}

/// Returns an object without its null members.
fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
