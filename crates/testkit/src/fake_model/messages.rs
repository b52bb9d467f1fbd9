//! The Anthropic Messages API, with and without streaming.

use serde_json::{Value, json};
use uuid::Uuid;

use super::behaviour::{Behaviour, SLOW_INTERVAL, current_prompt, user_text};
use super::reply::{Reply, Step};

/// The shell tool of Claude Code.
const SHELL_TOOL: &str = "Bash";

pub(super) fn respond(body: &Value) -> Reply {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_prompt = |message: &&Value| message["role"] == "user" && !ends_with_tool_result(message);
    let prompts = messages.iter().rev().filter(is_prompt).map(|message| user_text(&message["content"]));
    let since_prompt = messages.iter().rev().take_while(|message| !is_prompt(message));
    let results = since_prompt.map(tool_results).sum();
    let (chunks, pause) = match Behaviour::for_prompt(&current_prompt(prompts), results) {
        Behaviour::HttpError(status) => return Reply::error(status),
        Behaviour::ToolCall { command, .. } => {
            let input = json!({ "command": command, "description": "requested by the test" });
            return reply(body, ContentBlock::tool_use(SHELL_TOOL, input));
        }
        Behaviour::NamedToolCall { name, arguments } => {
            let input = serde_json::from_str(&arguments).unwrap_or(Value::Null);
            return reply(body, ContentBlock::tool_use(&name, input));
        }
        Behaviour::Text(chunks) => (chunks, None),
        Behaviour::SlowText(chunks) => (chunks, Some(Step::Pause(SLOW_INTERVAL))),
        Behaviour::TruncatedText(chunks) => {
            let mut steps = ContentBlock::text(chunks, None).into_steps(body);
            steps.truncate(steps.len().saturating_sub(3));
            steps.push(Step::Disconnect);
            return Reply::Stream(steps);
        }
    };
    reply(body, ContentBlock::text(chunks, pause))
}

/// Returns whether a message is the result of a tool. A prompt after an interrupted turn follows the result in its message.
fn ends_with_tool_result(message: &Value) -> bool {
    let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    parts.last().is_some_and(|part| part["type"] == "tool_result")
}

/// Returns the number of tool results in a message.
fn tool_results(message: &Value) -> usize {
    let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter(|part| part["type"] == "tool_result").count()
}

fn reply(body: &Value, block: ContentBlock) -> Reply {
    if body["stream"] == json!(true) {
        return Reply::Stream(block.into_steps(body));
    }
    let mut message = empty_message(body);
    message["content"] = json!([block.complete]);
    message["stop_reason"] = json!(block.stop_reason);
    Reply::Json { status: 200, body: message }
}

/// The only content block of a message.
struct ContentBlock {
    start: Value,
    deltas: Vec<Value>,
    pause: Option<Step>,
    complete: Value,
    stop_reason: &'static str,
}

impl ContentBlock {
    fn text(chunks: Vec<String>, pause: Option<Step>) -> Self {
        let complete = json!({ "type": "text", "text": chunks.concat() });
        let delta = |chunk: String| json!({ "type": "text_delta", "text": chunk });
        let start = json!({ "type": "text", "text": "" });
        Self {
            start,
            deltas: chunks.into_iter().map(delta).collect(),
            pause,
            complete,
            stop_reason: "end_turn",
        }
    }

    fn tool_use(name: &str, input: Value) -> Self {
        let id = format!("toolu_{}", Uuid::now_v7().simple());
        let block = |input: &Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
        let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
        let start = block(&json!({}));
        Self { start, deltas: vec![delta], pause: None, complete: block(&input), stop_reason: "tool_use" }
    }

    fn into_steps(self, body: &Value) -> Vec<Step> {
        let mut steps = vec![
            Step::Event(json!({ "type": "message_start", "message": empty_message(body) })),
            Step::Event(json!({ "type": "content_block_start", "index": 0, "content_block": self.start })),
        ];
        for delta in self.deltas {
            steps.push(Step::Event(json!({ "type": "content_block_delta", "index": 0, "delta": delta })));
            steps.extend(self.pause.clone());
        }
        let stop = json!({ "stop_reason": self.stop_reason, "stop_sequence": null });
        steps.push(Step::Event(json!({ "type": "content_block_stop", "index": 0 })));
        let usage = json!({ "output_tokens": 7 });
        steps.push(Step::Event(json!({ "type": "message_delta", "delta": stop, "usage": usage })));
        steps.push(Step::Event(json!({ "type": "message_stop" })));
        steps
    }
}

fn empty_message(body: &Value) -> Value {
    json!({
        "id": format!("msg_{}", Uuid::now_v7().simple()), "type": "message", "role": "assistant",
        "model": body["model"], "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 11, "output_tokens": 7 },
    })
}
