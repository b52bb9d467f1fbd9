//! The OpenAI Chat Completions API, with and without streaming.

use serde_json::{Value, json};
use uuid::Uuid;

use super::behaviour::{Behaviour, SLOW_INTERVAL, current_prompt, reasoning_about, user_text};
use super::reply::{Reply, Step};

/// Names of the shell tools of known agents.
const SHELL_TOOLS: [&str; 3] = ["run_shell_command", "shell", "bash"];

pub(super) fn respond(body: &Value) -> Reply {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_user = |message: &&Value| message["role"] == "user";
    let prompts = messages.iter().rev().filter(is_user).map(|message| user_text(&message["content"]));
    let since_prompt = messages.iter().rev().take_while(|message| message["role"] != "user");
    let tool_results = since_prompt.filter(|message| message["role"] == "tool").count();
    let prompt = current_prompt(prompts);
    let mut completion = match Behaviour::for_prompt(&prompt, tool_results) {
        Behaviour::HttpError(status) => return Reply::error(status),
        Behaviour::ToolCall { command, .. } => Completion::shell_call(&body["tools"], &command),
        Behaviour::NamedToolCall { name, arguments } => Completion::tool_call(&name, &arguments),
        Behaviour::Text(chunks) => Completion::text(chunks, StreamEnd::Stop),
        Behaviour::SlowText(chunks) => Completion::text(chunks, StreamEnd::StopWithPauses),
        Behaviour::TruncatedText(chunks) => Completion::text(chunks, StreamEnd::Disconnect),
    };
    completion.reasoning = reasoning_about(&prompt).join(&"\n\n".to_owned());
    let head = json!({
        "id": format!("chatcmpl-{}", Uuid::now_v7().simple()), "created": 1, "model": body["model"],
    });
    if body["stream"] == json!(true) { completion.into_stream(&head) } else { completion.into_json(&head) }
}

/// A completion, before it is encoded as a stream or as one JSON body.
struct Completion {
    /// Chunks of the reasoning before the response.
    reasoning: Vec<String>,
    chunks: Vec<String>,
    tool_call: Option<Value>,
    end: StreamEnd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    Stop,
    StopWithPauses,
    Disconnect,
}

impl Completion {
    fn text(chunks: Vec<String>, end: StreamEnd) -> Self {
        Self { reasoning: Vec::new(), chunks, tool_call: None, end }
    }

    fn shell_call(tools: &Value, command: &str) -> Self {
        let offered: Vec<&str> = tools
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect();
        let Some(shell) = SHELL_TOOLS.into_iter().find(|shell| offered.contains(shell)) else {
            return Self::text(
                vec![format!("no shell among these tools: {}", offered.join(", "))],
                StreamEnd::Stop,
            );
        };
        let arguments =
            json!({ "command": command, "description": "requested by the test", "is_background": false });
        Self::tool_call(shell, &arguments.to_string())
    }

    fn tool_call(name: &str, arguments: &str) -> Self {
        let tool_call = json!({
            "id": format!("call_{}", Uuid::now_v7().simple()), "type": "function",
            "function": { "name": name, "arguments": arguments },
        });
        Self { tool_call: Some(tool_call), ..Self::text(Vec::new(), StreamEnd::Stop) }
    }

    fn finish_reason(&self) -> &'static str {
        if self.tool_call.is_some() { "tool_calls" } else { "stop" }
    }

    fn into_json(self, head: &Value) -> Reply {
        let mut message = json!({ "role": "assistant", "content": self.chunks.concat() });
        let finish_reason = self.finish_reason();
        if let Some(tool_call) = self.tool_call {
            message["content"] = Value::Null;
            message["tool_calls"] = json!([tool_call]);
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish_reason });
        let extra = json!({ "object": "chat.completion", "choices": [choice], "usage": usage() });
        Reply::Json { status: 200, body: merged(head, extra) }
    }

    fn into_stream(self, head: &Value) -> Reply {
        let chunk = |extra: Value| {
            Step::Event(merged(&merged(head, json!({ "object": "chat.completion.chunk" })), extra))
        };
        let choice = |delta: Value, finish: Option<&str>| {
            chunk(json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
        };
        let reasoning_delta =
            |chunk: &String| choice(json!({ "role": "assistant", "reasoning_content": chunk }), None);
        let mut steps: Vec<Step> = self.reasoning.iter().map(reasoning_delta).collect();
        if let Some(tool_call) = &self.tool_call {
            let tool_call = merged(tool_call, json!({ "index": 0 }));
            steps.push(choice(json!({ "role": "assistant", "tool_calls": [tool_call] }), None));
        }
        for chunk_text in &self.chunks {
            steps.push(choice(json!({ "role": "assistant", "content": chunk_text }), None));
            steps.extend((self.end == StreamEnd::StopWithPauses).then_some(Step::Pause(SLOW_INTERVAL)));
        }
        if self.end == StreamEnd::Disconnect {
            steps.push(Step::Disconnect);
            return Reply::Stream(steps);
        }
        steps.push(choice(json!({}), Some(self.finish_reason())));
        steps.push(chunk(json!({ "choices": [], "usage": usage() })));
        steps.push(Step::Data("[DONE]"));
        Reply::Stream(steps)
    }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 })
}

/// Returns an object with the members of another object added.
fn merged(base: &Value, extra: Value) -> Value {
    let mut result = base.clone();
    if let (Value::Object(result), Value::Object(extra)) = (&mut result, extra) {
        result.extend(extra);
    }
    result
}
