//! The protocol's envelope: JSON-RPC 2.0, one message a line.

use serde_json::{Value, json};

/// What came from the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// To a request of ours.
    Answer {
        id: u64,
        outcome: Result<Value, Fault>,
    },
    /// It wants something, and waits.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notice {
        method: String,
        params: Value,
    },
    /// No message, or one that was too long.
    Noise {
        bytes: usize,
    },
}

/// An error in the agent's own words, which may hold anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) words: String,
}

impl Incoming {
    pub(super) fn parse(line: &[u8]) -> Self {
        let noise = Self::Noise { bytes: line.len() };
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else { return noise };
        let params = message.remove("params").unwrap_or(Value::Null);
        match (message.remove("method"), message.remove("id")) {
            (Some(Value::String(method)), Some(id)) => Self::Request { id, method, params },
            (Some(Value::String(method)), None) => Self::Notice { method, params },
            (None, Some(id)) => {
                let Some(id) = id.as_u64() else { return noise };
                let outcome = match message.remove("error") {
                    Some(error) => Err(Fault::of(&error)),
                    None => Ok(message.remove("result").unwrap_or(Value::Null)),
                };
                Self::Answer { id, outcome }
            }
            (Some(_), _) | (None, None) => noise,
        }
    }
}

impl Fault {
    fn of(error: &Value) -> Self {
        let words = format!("{} {}", error["message"].as_str().unwrap_or_default(), error["data"]);
        Self { code: error["code"].as_i64().unwrap_or_default(), words }
    }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(super) fn notice(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

pub(super) fn answer(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// Refuses what we do not offer: no method of ours has this name.
pub(super) fn refusal(id: &Value) -> String {
    let error = json!({ "code": -32601, "message": "refused: the runner grants nothing it does not know" });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_message_are_told_apart() {
        let parse = |value: Value| Incoming::parse(value.to_string().as_bytes());
        let answer = parse(json!({ "jsonrpc": "2.0", "id": 3, "result": { "a": 1 } }));
        assert_eq!(answer, Incoming::Answer { id: 3, outcome: Ok(json!({ "a": 1 })) });
        let failed = parse(
            json!({ "id": 3, "error": { "code": -32603, "message": "no", "data": { "details": "why" } } }),
        );
        let fault = Fault { code: -32603, words: "no {\"details\":\"why\"}".to_owned() };
        assert_eq!(failed, Incoming::Answer { id: 3, outcome: Err(fault) });
        let asked = parse(json!({ "id": "x", "method": "fs/read_text_file", "params": 1 }));
        let request =
            Incoming::Request { id: json!("x"), method: "fs/read_text_file".to_owned(), params: json!(1) };
        assert_eq!(asked, request);
        let told = parse(json!({ "method": "session/update" }));
        assert_eq!(told, Incoming::Notice { method: "session/update".to_owned(), params: Value::Null });
    }

    #[test]
    fn what_is_no_message_is_noise() {
        for line in ["", "hello", "[]", "{}", "{\"id\":\"theirs\",\"result\":1}", "{\"method\":5,\"id\":1}"] {
            assert_eq!(Incoming::parse(line.as_bytes()), Incoming::Noise { bytes: line.len() }, "{line}");
        }
    }
}
