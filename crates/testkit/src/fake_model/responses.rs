//! The OpenAI Responses API, streamed.

use serde_json::{Value, json};
use uuid::Uuid;

use super::behaviour::{Behaviour, SLOW_PACE, text_of};
use super::reply::{Reply, Step};

pub(super) fn answer(body: &Value) -> Reply {
    let items = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = items.iter().rfind(|item| item["role"] == "user").map(|item| text_of(&item["content"]));
    let tail = items.last().and_then(|item| item["type"].as_str()).unwrap_or("");
    let steps = match Behaviour::of(&last.unwrap_or_default(), tail.ends_with("_output")) {
        Behaviour::Refuse(status) => return Reply::refusal(status),
        Behaviour::Call { command, escalated } => vec![call(&body["tools"], &command, escalated)],
        Behaviour::Say(pieces) => message(&pieces, || None),
        Behaviour::SaySlowly(pieces) => message(&pieces, || Some(Step::Pause(SLOW_PACE))),
        Behaviour::BreakOff(pieces) => {
            let mut steps = message(&pieces, || None);
            // The end of the message goes unsaid.
            steps.pop();
            steps.push(Step::Cut);
            steps
        }
    };
    Reply::Stream(framed(steps))
}

/// Puts the beginning and the end around what is said.
fn framed(said: Vec<Step>) -> Vec<Step> {
    let id = name("resp");
    let usage = json!({
        "input_tokens": 11, "input_tokens_details": { "cached_tokens": 3 },
        "output_tokens": 7, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 18,
    });
    let created = Step::Event(json!({ "type": "response.created", "response": { "id": id } }));
    let completed =
        Step::Event(json!({ "type": "response.completed", "response": { "id": id, "usage": usage } }));
    [created].into_iter().chain(said).chain([completed]).collect()
}

fn message(pieces: &[String], after_each: impl Fn() -> Option<Step>) -> Vec<Step> {
    let id = name("msg");
    let item =
        |content: Value| json!({ "type": "message", "role": "assistant", "id": id, "content": content });
    let added = json!({ "type": "response.output_item.added", "output_index": 0, "item": item(json!([])) });
    let whole = item(json!([{ "type": "output_text", "text": pieces.concat() }]));
    let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": whole });
    let mut steps = vec![Step::Event(added)];
    for piece in pieces {
        steps.push(Step::Event(json!({
            "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": id, "delta": piece,
        })));
        steps.extend(after_each());
    }
    steps.push(Step::Event(done));
    steps
}

/// Asks for a shell command by the tool that the agent has for it.
fn call(tools: &Value, command: &str, escalated: bool) -> Step {
    let has =
        |tool: &str| tools.as_array().is_some_and(|tools| tools.iter().any(|each| each["name"] == tool));
    let (tool, mut arguments) = if has("exec_command") {
        ("exec_command", json!({ "cmd": command }))
    } else if has("shell_command") {
        ("shell_command", json!({ "command": command }))
    } else {
        ("shell", json!({ "command": ["bash", "-lc", command] }))
    };
    if escalated {
        arguments["sandbox_permissions"] = json!("require_escalated");
        arguments["justification"] = json!("the test wants to be asked");
    }
    let item = json!({
        "type": "function_call", "id": name("fc"), "call_id": name("call"), "name": tool,
        "arguments": arguments.to_string(),
    });
    Step::Event(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }))
}

fn name(kind: &str) -> String {
    format!("{kind}_{}", Uuid::now_v7().simple())
}
