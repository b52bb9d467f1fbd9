//! How the model responds, chosen by the last user prompt.

use std::time::Duration;

use serde_json::Value;

/// Output size of the `big:` command.
pub const BIG_OUTPUT_BYTES: usize = 10 * 1024 * 1024;

pub(super) const SLOW_CHUNKS: usize = 40;
pub(super) const SLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Characters per chunk of an echo: short and odd, so that words are split.
const CHUNK_CHARS: usize = 7;

/// The prompt of the guide to work on one's own repository, and what the model does about it.
const FIX_PROMPT: &str = "fix the failing test";
const FIX_COMMANDS: [&str; 3] = [
    "python3 -B -m unittest -q",
    // Not `sed -i`: Qwen Code takes it for an edit, and refuses it for a file that it has not read.
    "sed 's/a - b/a + b/' calc.py > fixed && mv fixed calc.py",
    "python3 -B -m unittest -q",
];

/// The prompt of the guide about approvals. Codex asks before it runs this command.
const REMOVE_PROMPT: &str = "remove the build folder";
const REMOVE_COMMAND: &str = "rm -rf build";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Sends these chunks without delay.
    Text(Vec<String>),
    /// Sends these chunks with a pause after each.
    SlowText(Vec<String>),
    /// Sends these chunks and closes the connection.
    TruncatedText(Vec<String>),
    /// Calls a shell tool.
    ToolCall { command: String, escalated: bool },
    /// Calls a tool by its name, with arguments as JSON.
    NamedToolCall { name: String, arguments: String },
    /// Responds with an HTTP error status.
    HttpError(u16),
}

impl Behaviour {
    /// Chooses by the first trigger word in the prompt. After a tool result the model echoes, except in a loop.
    /// `tool_results` is the number of tool results since the prompt.
    pub(super) fn for_prompt(text: &str, tool_results: usize) -> Self {
        if text.contains(FIX_PROMPT) {
            return match FIX_COMMANDS.get(tool_results) {
                Some(command) => Self::ToolCall { command: (*command).to_owned(), escalated: false },
                None => Self::Text(chunks_of("The test passes now: `add` subtracted.")),
            };
        }
        if text.contains(REMOVE_PROMPT) {
            return match tool_results {
                0 => Self::ToolCall { command: REMOVE_COMMAND.to_owned(), escalated: false },
                _ => Self::Text(chunks_of("The build folder is gone, if you allowed it.")),
            };
        }
        let trigger = text.split_whitespace().find_map(|word| Self::trigger(word, text));
        match trigger {
            Some(Trigger::Always(behaviour)) => behaviour,
            Some(Trigger::UntilToolResult(behaviour)) if tool_results == 0 => behaviour,
            Some(Trigger::UntilToolResult(_)) | None => Self::Text(chunks_of(&format!("Echo: {text}"))),
        }
    }

    fn trigger(word: &str, text: &str) -> Option<Trigger> {
        let call =
            |prefix: &str, escalated| Self::ToolCall { command: rest_of_line(text, prefix), escalated };
        let slow_chunks = || (0..SLOW_CHUNKS).map(|number| format!("tok{number} ")).collect();
        let trigger = match word {
            "slow" => Trigger::Always(Self::SlowText(slow_chunks())),
            "boom" => Trigger::Always(Self::HttpError(500)),
            "r429" => Trigger::Always(Self::HttpError(429)),
            "r401" => Trigger::Always(Self::HttpError(401)),
            "cut" => Trigger::Always(Self::TruncatedText(chunks_of("An answer that nobody"))),
            _ if word.starts_with("run:") => Trigger::UntilToolResult(call("run:", false)),
            _ if word.starts_with("ask:") => Trigger::UntilToolResult(call("ask:", true)),
            _ if word.starts_with("tool:") => {
                let call = rest_of_line(text, "tool:");
                let (name, arguments) = call.split_once(' ').unwrap_or((&call, "{}"));
                let (name, arguments) = (name.to_owned(), arguments.to_owned());
                Trigger::UntilToolResult(Self::NamedToolCall { name, arguments })
            }
            _ if word.starts_with("big:") => {
                Trigger::UntilToolResult(Self::ToolCall { command: big_output_command(), escalated: false })
            }
            _ if word.starts_with("loop:") => Trigger::Always(call("loop:", false)),
            _ => return None,
        };
        Some(trigger)
    }
}

/// Makes the model reason before each of its responses to the prompt.
const REASONING_WORD: &str = "think:";

/// Returns the parts of the model's reasoning about a prompt, each in chunks. It repeats the prompt.
pub(super) fn reasoning_about(prompt: &str) -> Vec<Vec<String>> {
    if prompt.split_whitespace().any(|word| word == REASONING_WORD) {
        vec![chunks_of("The user wants:"), chunks_of(prompt)]
    } else {
        Vec::new()
    }
}

enum Trigger {
    Always(Behaviour),
    /// Only until the tool result arrives.
    UntilToolResult(Behaviour),
}

fn rest_of_line(text: &str, prefix: &str) -> String {
    let rest = text.split_once(prefix).map_or("", |(_, rest)| rest);
    rest.lines().next().unwrap_or("").trim().to_owned()
}

fn big_output_command() -> String {
    format!("yes 0123456789abcdef | head -c {BIG_OUTPUT_BYTES}")
}

fn chunks_of(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(CHUNK_CHARS).map(|chunk| chunk.iter().collect()).collect()
}

/// In the prompts that continue a turn after its question was allowed or answered.
const ASK_AGAIN: [&str; 2] = ["Ask for exactly the same action again", "Ask the same question again"];

/// Returns the prompt that the model follows, from those of a thread, latest first. A model that is told to ask again
/// does what it wanted to do before.
pub(super) fn current_prompt(mut prompts: impl Iterator<Item = String>) -> String {
    let last = prompts.next().unwrap_or_default();
    if !ASK_AGAIN.iter().any(|words| last.contains(words)) {
        return last;
    }
    prompts.find(|earlier| earlier.contains("ask:") || earlier.contains("tool:")).unwrap_or(last)
}

/// Returns the text of a message, which is a string or a list of parts.
pub(super) fn message_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Returns the user's text of a message: the last part, because agents may put their own parts before it.
pub(super) fn user_text(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.last().map(|part| message_text(&part["text"])).unwrap_or_default(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            message_text(content)
        }
    }
}
