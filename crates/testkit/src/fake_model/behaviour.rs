//! What the model does, picked by the last user text.

use std::time::Duration;

use serde_json::Value;

/// What the command of `big:` prints.
pub const BIG_OUTPUT_BYTES: usize = 10 * 1024 * 1024;

pub(super) const SLOW_WORDS: usize = 40;
pub(super) const SLOW_PACE: Duration = Duration::from_millis(250);

/// Characters of an echo that come in one piece: short and odd, so that words are split.
const PIECE_CHARS: usize = 7;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Says these pieces, at once.
    Say(Vec<String>),
    /// Says these pieces, one at a time.
    SaySlowly(Vec<String>),
    /// Says these pieces and drops the connection.
    BreakOff(Vec<String>),
    /// Asks for a shell command.
    Call { command: String, escalated: bool },
    /// Answers with an HTTP failure.
    Refuse(u16),
}

impl Behaviour {
    /// Picks by the first word that means something. A tool that was answered has had its turn, except in a loop.
    pub(super) fn of(text: &str, tool_answered: bool) -> Self {
        let found = text.split_whitespace().find_map(|word| Self::named(word, text));
        match found {
            Some(Named::Always(behaviour)) => behaviour,
            Some(Named::Once(behaviour)) if !tool_answered => behaviour,
            Some(Named::Once(_)) | None => Self::Say(pieces(&format!("Echo: {text}"))),
        }
    }

    fn named(word: &str, text: &str) -> Option<Named> {
        let call = |prefix: &str, escalated| Self::Call { command: rest_of_line(text, prefix), escalated };
        let words = || (0..SLOW_WORDS).map(|number| format!("tok{number} ")).collect();
        let named = match word {
            "slow" => Named::Always(Self::SaySlowly(words())),
            "boom" => Named::Always(Self::Refuse(500)),
            "r429" => Named::Always(Self::Refuse(429)),
            "r401" => Named::Always(Self::Refuse(401)),
            "cut" => Named::Always(Self::BreakOff(pieces("An answer that nobody"))),
            _ if word.starts_with("run:") => Named::Once(call("run:", false)),
            _ if word.starts_with("ask:") => Named::Once(call("ask:", true)),
            _ if word.starts_with("big:") => {
                Named::Once(Self::Call { command: print_much(), escalated: false })
            }
            _ if word.starts_with("loop:") => Named::Always(call("loop:", false)),
            _ => return None,
        };
        Some(named)
    }
}

enum Named {
    Always(Behaviour),
    /// Until the tool that it asks for was answered.
    Once(Behaviour),
}

fn rest_of_line(text: &str, prefix: &str) -> String {
    let rest = text.split_once(prefix).map_or("", |(_, rest)| rest);
    rest.lines().next().unwrap_or("").trim().to_owned()
}

fn print_much() -> String {
    format!("yes 0123456789abcdef | head -c {BIG_OUTPUT_BYTES}")
}

fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}

/// Returns the text of a message, whether it came as one or in parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Returns what the user said in a message. An agent may put parts of its own before it.
pub(super) fn words_of(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.last().map(|part| text_of(&part["text"])).unwrap_or_default(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            text_of(content)
        }
    }
}
