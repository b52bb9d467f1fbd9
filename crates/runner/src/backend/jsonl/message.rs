//! JSON-RPC messages, one per line.

use serde_json::{Value, json};

/// Error code of JSON-RPC for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

/// Whether messages carry the member `jsonrpc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
    JsonRpc2,
    /// Codex omits the version.
    WithoutVersion,
}

/// A message from the agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// The response to a request of ours.
    Response {
        id: u64,
        result: Result<Value, RpcError>,
    },
    /// A request of the agent, which waits for a reply.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// Not a message, or too long.
    Invalid {
        bytes: usize,
    },
}

/// The error of a response. Its text is the agent's own and may contain anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

/// Our reply to a request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Result(Value),
    MethodNotFound,
}

impl Message {
    pub(crate) fn parse(line: &[u8]) -> Self {
        let invalid = Self::Invalid { bytes: line.len() };
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else { return invalid };
        let params = message.remove("params").unwrap_or(Value::Null);
        match (message.remove("method"), message.remove("id")) {
            (Some(Value::String(method)), Some(id)) => Self::Request { id, method, params },
            (Some(Value::String(method)), None) => Self::Notification { method, params },
            (None, Some(id)) => {
                let Some(id) = id.as_u64() else { return invalid };
                let result = match message.remove("error") {
                    Some(error) => Err(RpcError::parse(&error)),
                    None => Ok(message.remove("result").unwrap_or(Value::Null)),
                };
                Self::Response { id, result }
            }
            (Some(_), _) | (None, None) => invalid,
        }
    }
}

impl RpcError {
    fn parse(error: &Value) -> Self {
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].clone(),
        }
    }
}

impl Envelope {
    pub(super) fn request(self, id: u64, method: &str, params: &Value) -> String {
        self.line(json!({ "id": id, "method": method, "params": params }))
    }

    pub(super) fn notification(self, method: &str, params: Option<&Value>) -> String {
        let mut message = json!({ "method": method });
        if let Some(params) = params {
            message["params"] = params.clone();
        }
        self.line(message)
    }

    pub(super) fn response(self, id: &Value, reply: &Reply) -> String {
        self.line(match reply {
            Reply::Result(result) => json!({ "id": id, "result": result }),
            Reply::MethodNotFound => {
                let message = "this client does not support the method";
                json!({ "id": id, "error": { "code": METHOD_NOT_FOUND, "message": message } })
            }
        })
    }

    fn line(self, mut message: Value) -> String {
        if self == Self::JsonRpc2 {
            message["jsonrpc"] = json!("2.0");
        }
        message.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_message_is_parsed() {
        let parse = |value: Value| Message::parse(value.to_string().as_bytes());
        for response in [
            json!({ "id": 3, "result": { "a": 1 } }),
            json!({ "jsonrpc": "2.0", "id": 3, "result": { "a": 1 } }),
        ] {
            assert_eq!(parse(response), Message::Response { id: 3, result: Ok(json!({ "a": 1 })) });
        }
        let failed =
            json!({ "id": 3, "error": { "code": -32603, "message": "no", "data": { "details": "why" } } });
        let error = RpcError { code: -32603, message: "no".to_owned(), data: json!({ "details": "why" }) };
        assert_eq!(parse(failed), Message::Response { id: 3, result: Err(error) });
        let request = json!({ "id": "x", "method": "fs/read_text_file", "params": 1 });
        let expected =
            Message::Request { id: json!("x"), method: "fs/read_text_file".to_owned(), params: json!(1) };
        assert_eq!(parse(request), expected);
        let notification = parse(json!({ "method": "session/update" }));
        let expected = Message::Notification { method: "session/update".to_owned(), params: Value::Null };
        assert_eq!(notification, expected);
    }

    #[test]
    fn other_lines_are_invalid() {
        for line in ["", "hello", "[]", "{}", "{\"id\":\"theirs\",\"result\":1}", "{\"method\":5,\"id\":1}"] {
            assert_eq!(Message::parse(line.as_bytes()), Message::Invalid { bytes: line.len() }, "{line}");
        }
    }

    #[test]
    fn version_is_written_only_for_json_rpc_2() {
        let read = |line: String| -> Value { serde_json::from_str(&line).expect("JSON") };
        let request = json!({ "id": 1, "method": "m", "params": 2 });
        assert_eq!(read(Envelope::WithoutVersion.request(1, "m", &json!(2))), request);
        let cancel = json!({ "jsonrpc": "2.0", "method": "m", "params": 2 });
        assert_eq!(read(Envelope::JsonRpc2.notification("m", Some(&json!(2)))), cancel);
        assert_eq!(read(Envelope::WithoutVersion.notification("m", None)), json!({ "method": "m" }));
    }
}
