//! The OpenAI Chat Completions API, streamed or whole.

use serde_json::{Value, json};
use uuid::Uuid;

use super::behaviour::{Behaviour, SLOW_PACE, words_of};
use super::reply::{Reply, Step};

/// The names under which agents offer a shell.
const SHELLS: [&str; 3] = ["run_shell_command", "shell", "bash"];

pub(super) fn answer(body: &Value) -> Reply {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.iter().rfind(|message| message["role"] == "user").map(|m| words_of(&m["content"]));
    let tool_answered = messages.last().is_some_and(|message| message["role"] == "tool");
    let said = match Behaviour::of(&last.unwrap_or_default(), tool_answered) {
        Behaviour::Refuse(status) => return Reply::refusal(status),
        Behaviour::Call { command, .. } => Said::call(&body["tools"], &command),
        Behaviour::Say(pieces) => Said::words(pieces, End::Stop),
        Behaviour::SaySlowly(pieces) => Said::words(pieces, End::StopAfterPauses),
        Behaviour::BreakOff(pieces) => Said::words(pieces, End::Cut),
    };
    let head = json!({
        "id": format!("chatcmpl-{}", Uuid::now_v7().simple()), "created": 1, "model": body["model"],
    });
    if body["stream"] == json!(true) { said.streamed(&head) } else { said.whole(&head) }
}

/// What the model says, before it is put into the form that was asked for.
struct Said {
    pieces: Vec<String>,
    call: Option<Value>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Stop,
    StopAfterPauses,
    Cut,
}

impl Said {
    fn words(pieces: Vec<String>, end: End) -> Self {
        Self { pieces, call: None, end }
    }

    fn call(tools: &Value, command: &str) -> Self {
        let offered: Vec<&str> = tools
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect();
        let Some(shell) = SHELLS.into_iter().find(|shell| offered.contains(shell)) else {
            return Self::words(
                vec![format!("no shell among these tools: {}", offered.join(", "))],
                End::Stop,
            );
        };
        let arguments =
            json!({ "command": command, "description": "what was asked", "is_background": false });
        let call = json!({
            "id": format!("call_{}", Uuid::now_v7().simple()), "type": "function",
            "function": { "name": shell, "arguments": arguments.to_string() },
        });
        Self { pieces: Vec::new(), call: Some(call), end: End::Stop }
    }

    fn finish_reason(&self) -> &'static str {
        if self.call.is_some() { "tool_calls" } else { "stop" }
    }

    fn whole(self, head: &Value) -> Reply {
        let mut message = json!({ "role": "assistant", "content": self.pieces.concat() });
        let finish_reason = self.finish_reason();
        if let Some(call) = self.call {
            message["content"] = Value::Null;
            message["tool_calls"] = json!([call]);
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish_reason });
        let more = json!({ "object": "chat.completion", "choices": [choice], "usage": usage() });
        Reply::Whole { status: 200, body: with(head, more) }
    }

    fn streamed(self, head: &Value) -> Reply {
        let chunk =
            |more: Value| Step::Event(with(&with(head, json!({ "object": "chat.completion.chunk" })), more));
        let choice = |delta: Value, finish: Option<&str>| {
            chunk(json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
        };
        let mut steps = Vec::new();
        if let Some(call) = &self.call {
            let call = with(call, json!({ "index": 0 }));
            steps.push(choice(json!({ "role": "assistant", "tool_calls": [call] }), None));
        }
        for piece in &self.pieces {
            steps.push(choice(json!({ "role": "assistant", "content": piece }), None));
            steps.extend((self.end == End::StopAfterPauses).then_some(Step::Pause(SLOW_PACE)));
        }
        if self.end == End::Cut {
            steps.push(Step::Cut);
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

/// Returns an object with the members of another added.
fn with(base: &Value, more: Value) -> Value {
    let mut both = base.clone();
    if let (Value::Object(both), Value::Object(more)) = (&mut both, more) {
        both.extend(more);
    }
    both
}
