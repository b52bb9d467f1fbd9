//! The OpenAI Responses API, streamed.

use serde_json::{Value, json};
use uuid::Uuid;

use super::behaviour::{Behaviour, SLOW_INTERVAL, current_prompt, message_text, reasoning_about};
use super::reply::{Reply, Step};

/// How long Codex waits for a tool before it leaves the tool running and returns, in milliseconds. Its maximum; by default
/// it waits ten seconds, and the output of a slower tool is lost.
const TOOL_WAIT_MS: u32 = 30_000;

pub(super) fn respond(body: &Value) -> Reply {
    let items = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_user = |item: &&Value| item["role"] == "user";
    let prompts = items.iter().rev().filter(is_user).map(|item| message_text(&item["content"]));
    let is_result = |item: &&Value| item["type"].as_str().is_some_and(|name| name.ends_with("_output"));
    let since_prompt = items.iter().rev().take_while(|item| item["role"] != "user");
    let tool_results = since_prompt.filter(is_result).count();
    let prompt = current_prompt(prompts);
    let steps = match Behaviour::for_prompt(&prompt, tool_results) {
        Behaviour::HttpError(status) => return Reply::error(status),
        Behaviour::ToolCall { command, escalated } => vec![shell_call(&body["tools"], &command, escalated)],
        Behaviour::NamedToolCall { name, arguments } => vec![tool_call(&name, &arguments)],
        Behaviour::Text(chunks) => message(&chunks, || None),
        Behaviour::SlowText(chunks) => message(&chunks, || Some(Step::Pause(SLOW_INTERVAL))),
        Behaviour::TruncatedText(chunks) => {
            let mut steps = message(&chunks, || None);
            // Leave out the end of the message.
            steps.pop();
            steps.push(Step::Disconnect);
            steps
        }
    };
    Reply::Stream(with_envelope(reasoning(&reasoning_about(&prompt)).into_iter().chain(steps).collect()))
}

/// Streams a summary of the reasoning, part by part.
fn reasoning(parts: &[Vec<String>]) -> Vec<Step> {
    if parts.is_empty() {
        return Vec::new();
    }
    let id = new_id("rs");
    let item = |summary: Value| json!({ "type": "reasoning", "id": id, "summary": summary });
    let event = |kind: &str, mut fields: Value| {
        (fields["type"], fields["output_index"]) = (json!(format!("response.{kind}")), json!(0));
        Step::Event(fields)
    };
    let mut steps = vec![event("output_item.added", json!({ "item": item(json!([])) }))];
    for (index, chunks) in parts.iter().enumerate() {
        let empty = json!({ "type": "summary_text", "text": "" });
        let added = json!({ "item_id": id, "summary_index": index, "part": empty });
        steps.push(event("reasoning_summary_part.added", added));
        steps.extend(chunks.iter().map(|chunk| {
            let delta = json!({ "item_id": id, "summary_index": index, "delta": chunk });
            event("reasoning_summary_text.delta", delta)
        }));
    }
    let summary =
        parts.iter().map(|chunks| json!({ "type": "summary_text", "text": chunks.concat() })).collect();
    steps.push(event("output_item.done", json!({ "item": item(summary) })));
    steps
}

/// Adds the `created` and `completed` events.
fn with_envelope(steps: Vec<Step>) -> Vec<Step> {
    let id = new_id("resp");
    let usage = json!({
        "input_tokens": 11, "input_tokens_details": { "cached_tokens": 3 },
        "output_tokens": 7, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 18,
    });
    let created = Step::Event(json!({ "type": "response.created", "response": { "id": id } }));
    let completed =
        Step::Event(json!({ "type": "response.completed", "response": { "id": id, "usage": usage } }));
    [created].into_iter().chain(steps).chain([completed]).collect()
}

fn message(chunks: &[String], after_each: impl Fn() -> Option<Step>) -> Vec<Step> {
    let id = new_id("msg");
    let item =
        |content: Value| json!({ "type": "message", "role": "assistant", "id": id, "content": content });
    let added = json!({ "type": "response.output_item.added", "output_index": 0, "item": item(json!([])) });
    let complete = item(json!([{ "type": "output_text", "text": chunks.concat() }]));
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": complete });
    let mut steps = vec![Step::Event(added)];
    for chunk in chunks {
        steps.push(Step::Event(json!({
            "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": id, "delta": chunk,
        })));
        steps.extend(after_each());
    }
    steps.push(Step::Event(done));
    steps
}

/// Calls the shell tool that the agent offers.
fn shell_call(tools: &Value, command: &str, escalated: bool) -> Step {
    let has =
        |tool: &str| tools.as_array().is_some_and(|tools| tools.iter().any(|each| each["name"] == tool));
    let (tool, mut arguments) = if has("exec_command") {
        ("exec_command", json!({ "cmd": command, "yield_time_ms": TOOL_WAIT_MS }))
    } else if has("shell_command") {
        ("shell_command", json!({ "command": command }))
    } else {
        ("shell", json!({ "command": ["bash", "-lc", command] }))
    };
    if escalated {
        arguments["sandbox_permissions"] = json!("require_escalated");
        arguments["justification"] = json!("requested by the test");
    }
    tool_call(tool, &arguments.to_string())
}

/// Calls a tool by its name. A tool of a namespace is `namespace/name`.
fn tool_call(name: &str, arguments: &str) -> Step {
    let (namespace, name) = name.split_once('/').map_or((None, name), |(space, name)| (Some(space), name));
    let mut item = json!({
        "type": "function_call", "id": new_id("fc"), "call_id": new_id("call"), "name": name,
        "arguments": arguments,
    });
    if let Some(namespace) = namespace {
        item["namespace"] = json!(namespace);
    }
    Step::Event(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }))
}

fn new_id(kind: &str) -> String {
    format!("{kind}_{}", Uuid::now_v7().simple())
}
