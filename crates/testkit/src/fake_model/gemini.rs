//! The Gemini API: `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::behaviour::{Behaviour, SLOW_INTERVAL, current_prompt, user_text};
use super::reply::{Reply, Step};

/// The shell tool of Gemini CLI.
const SHELL_TOOL: &str = "run_shell_command";

/// The last segment of the path is `<model>:<method>`.
pub(super) fn respond(method: &str, body: &Value) -> Reply {
    let contents = body["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_prompt = |content: &&Value| content["role"] == "user" && tool_results(content) == 0;
    let prompts = contents.iter().rev().filter(is_prompt).map(|content| user_text(&content["parts"]));
    let since_prompt = contents.iter().rev().take_while(|content| !is_prompt(content));
    let results = since_prompt.map(tool_results).sum();
    let texts = |chunks: Vec<String>| chunks.into_iter().map(|chunk| json!({ "text": chunk })).collect();
    let call = |name: &str, args: Value| vec![json!({ "functionCall": { "name": name, "args": args } })];
    let (parts, pause): (Vec<Value>, _) = match Behaviour::for_prompt(&current_prompt(prompts), results) {
        Behaviour::HttpError(status) => return Reply::error(status),
        Behaviour::ToolCall { command, .. } => {
            (call(SHELL_TOOL, json!({ "command": command, "description": "requested by the test" })), None)
        }
        Behaviour::NamedToolCall { name, arguments } => {
            (call(&name, serde_json::from_str(&arguments).unwrap_or(Value::Null)), None)
        }
        Behaviour::Text(chunks) => (texts(chunks), None),
        Behaviour::SlowText(chunks) => (texts(chunks), Some(Step::Pause(SLOW_INTERVAL))),
        Behaviour::TruncatedText(chunks) => {
            let parts: Vec<Value> = texts(chunks);
            let chunk = |part: &Value| Step::Event(response(std::slice::from_ref(part), None));
            return Reply::Stream(parts.iter().map(chunk).chain([Step::Disconnect]).collect());
        }
    };
    if method == "generateContent" {
        return Reply::Json { status: 200, body: response(&parts, Some("STOP")) };
    }
    let mut steps = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let finish = (index + 1 == parts.len()).then_some("STOP");
        steps.push(Step::Event(response(std::slice::from_ref(part), finish)));
        steps.extend(pause.clone());
    }
    Reply::Stream(steps)
}

/// Returns the number of tool results in a content.
fn tool_results(content: &Value) -> usize {
    let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter(|part| part["functionResponse"].is_object()).count()
}

fn response(parts: &[Value], finish: Option<&str>) -> Value {
    let candidate =
        json!({ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": finish });
    let usage = json!({ "promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18 });
    json!({ "candidates": [candidate], "usageMetadata": usage })
}
