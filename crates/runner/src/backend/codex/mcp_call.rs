//! Calls of MCP tools that Codex asks about. Its request names the server only: the tool is in the item that was started
//! before.

use guildhall_domain::approvals::question::{Action, Question, QuestionKind};
use serde_json::Value;

use super::options::allow_or_deny;
use crate::backend::question::empty_action;

/// What Codex calls a request about a call of a tool.
const TOOL_CALL: &str = "mcp_tool_call";

/// A call that has started and not ended.
#[derive(Debug, Clone, PartialEq)]
struct McpCall {
    item: String,
    server: String,
    tool: String,
    arguments: Value,
}

/// The calls of a turn that have started and not ended.
#[derive(Debug, Default)]
pub(super) struct OpenMcpCalls(Vec<McpCall>);

impl OpenMcpCalls {
    /// Takes a started item into account.
    pub(super) fn start(&mut self, params: &Value) {
        let item = &params["item"];
        let text = |name: &str| item[name].as_str().map(str::to_owned);
        if item["type"] == "mcpToolCall"
            && let (Some(id), Some(server), Some(tool)) = (text("id"), text("server"), text("tool"))
        {
            let arguments = item["arguments"].clone();
            self.0.push(McpCall { item: id, server, tool, arguments });
        }
    }

    /// Takes a completed item into account.
    pub(super) fn complete(&mut self, params: &Value) {
        self.0.retain(|call| params["item"]["id"] != call.item.as_str());
    }

    /// Returns the call that a request is about; none if it could be several different ones, or has other arguments.
    fn find(&self, params: &Value) -> Option<&McpCall> {
        let mut calls = self.candidates(params);
        let first = calls.next()?;
        calls.all(|call| call.tool == first.tool).then_some(first)
    }

    fn candidates(&self, params: &Value) -> impl Iterator<Item = &McpCall> {
        let (server, arguments) = (&params["serverName"], &params["_meta"]["tool_params"]);
        let is_same = move |call: &&McpCall| {
            *server == call.server.as_str() && same_arguments(&call.arguments, arguments)
        };
        self.0.iter().filter(is_same)
    }
}

/// Returns the item of the call that a request is about; none if there are equal calls.
pub(super) fn call_id(params: &Value, calls: &OpenMcpCalls) -> Option<String> {
    let mut candidates = calls.candidates(params);
    let first = candidates.next()?;
    candidates.next().is_none().then(|| first.item.clone())
}

/// A call without arguments has none, or an empty object.
fn same_arguments(one: &Value, other: &Value) -> bool {
    let is_empty =
        |value: &Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    one == other || (is_empty(one) && is_empty(other))
}

/// Returns whether a request of an MCP server is about a call of a tool, by what Codex says about it.
pub(super) fn is_tool_call(params: &Value) -> bool {
    params["_meta"]["codex_approval_kind"] == TOOL_CALL
}

/// Returns the question about a call, with the arguments that the tool gets; none if it is not known which call it is.
pub(super) fn question(params: &Value, calls: &OpenMcpCalls) -> Option<Question> {
    let server = params["serverName"].as_str()?;
    let call = calls.find(params)?;
    let action = Action {
        arguments: Some(call.arguments.clone()),
        ..empty_action(QuestionKind::McpTool, &format!("{server}/{}", call.tool))
    };
    let reason = params["message"].as_str().map(str::to_owned);
    Some(Question { action, options: allow_or_deny(), reason, answer_schema: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn started(id: &str, server: &str, tool: &str, arguments: Value) -> Value {
        json!({ "item": {
            "type": "mcpToolCall", "id": id, "server": server, "tool": tool, "arguments": arguments, "status": "inProgress",
        } })
    }

    fn request(server: &str, arguments: Value) -> Value {
        json!({
            "serverName": server, "threadId": "t", "mode": "form", "message": "Allow it?",
            "requestedSchema": { "type": "object", "properties": {} },
            "_meta": { "codex_approval_kind": TOOL_CALL, "tool_params": arguments, "persist": ["session", "always"] },
        })
    }

    fn calls(items: &[Value]) -> OpenMcpCalls {
        let mut calls = OpenMcpCalls::default();
        items.iter().for_each(|item| calls.start(item));
        calls
    }

    #[test]
    fn call_is_asked_with_its_tool_and_whole_arguments() {
        let arguments = json!({ "title": "a", "body": "x".repeat(4096) });
        let mut calls = calls(&[
            started("i", "tracker", "create", arguments.clone()),
            started("j", "tracker", "delete", json!({ "id": 1 })),
        ]);
        let asked = question(&request("tracker", arguments.clone()), &calls).expect("a question");
        let shown = (asked.action.kind, asked.action.tool.as_str(), &asked.action.arguments);
        assert_eq!(shown, (QuestionKind::McpTool, "tracker/create", &Some(arguments.clone())));
        assert_eq!(asked.check(), Ok(()));
        calls.complete(&json!({ "item": { "id": "i" } }));
        assert_eq!(question(&request("tracker", arguments), &calls), None, "it has ended");
    }

    #[test]
    fn ambiguous_mcp_call_creates_no_question() {
        let arguments = json!({ "id": 1 });
        let two = [
            started("i", "tracker", "close", arguments.clone()),
            started("j", "tracker", "delete", arguments.clone()),
        ];
        assert_eq!(question(&request("tracker", arguments.clone()), &calls(&two)), None, "two tools");
        let one = calls(&two[..1]);
        assert_eq!(question(&request("other", arguments.clone()), &one), None, "another server");
        assert_eq!(question(&request("tracker", json!({ "id": 2 })), &one), None, "other arguments");
        let same = [two[0].clone(), started("j", "tracker", "close", arguments.clone())];
        let asked = request("tracker", arguments);
        assert!(question(&asked, &calls(&same)).is_some(), "two equal calls");
        assert_eq!(call_id(&asked, &one).as_deref(), Some("i"));
        assert_eq!(call_id(&asked, &calls(&same)), None, "either of them");
        let empty = calls(&[started("i", "tracker", "list", Value::Null)]);
        assert!(question(&request("tracker", json!({})), &empty).is_some(), "no arguments");
    }
}
