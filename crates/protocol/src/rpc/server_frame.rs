//! Frames as a client of the socket writes and reads them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{ErrorData, RpcError};

/// A frame of the server. It has no `Debug`: a result may hold a credential.
#[derive(Clone, PartialEq)]
pub enum ServerFrame {
    /// The answer to a request. The id is null where the server could not read the one of the request.
    Response {
        id: Value,
        outcome: Result<Value, RpcError>,
    },
    Notification {
        method: String,
        params: Value,
    },
}

/// The text is not a frame of the socket. It is not repeated: it may hold a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the frame is neither a response nor a notification of JSON-RPC 2.0")]
pub struct InvalidServerFrame;

/// A response or a notification as it is on the wire.
#[derive(Deserialize)]
struct WireFrame {
    #[serde(default)]
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    // Some(null) is a result, none is not.
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<WireError>,
}

/// The error of a response. Other servers may send other data than this one.
#[derive(Deserialize)]
struct WireError {
    code: i32,
    message: String,
    #[serde(default)]
    data: Value,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Parses a text frame of the server.
pub fn parse_server_frame(text: &str) -> Result<ServerFrame, InvalidServerFrame> {
    let frame: WireFrame = serde_json::from_str(text).map_err(|_| InvalidServerFrame)?;
    let id = frame.id.unwrap_or_default();
    match (frame.method, frame.result, frame.error) {
        (Some(method), None, None) => Ok(ServerFrame::Notification { method, params: frame.params }),
        (None, Some(result), None) => Ok(ServerFrame::Response { id, outcome: Ok(result) }),
        (None, None, Some(error)) => Ok(ServerFrame::Response { id, outcome: Err(error.into()) }),
        (_, _, _) => Err(InvalidServerFrame),
    }
}

/// Returns the text of a request with a number as its id.
#[must_use]
pub fn request_text(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

impl From<WireError> for RpcError {
    fn from(error: WireError) -> Self {
        let data = serde_json::from_value(error.data).unwrap_or_else(|_| unknown_data());
        Self { code: error.code, message: error.message, data }
    }
}

/// Without a failure kind, nothing is known but the code and the message.
fn unknown_data() -> ErrorData {
    ErrorData {
        failure_kind: String::new(),
        retryable: false,
        retry_after_ms: None,
        trace_id: String::new(),
        details: std::collections::BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::{Failure, FailureKind};
    use proptest::prelude::*;

    use super::super::{Notification, Outgoing, RequestId, parse_frame};
    use super::*;

    fn parse(text: &str) -> ServerFrame {
        parse_server_frame(text).unwrap_or_else(|_| panic!("not a frame: {text}"))
    }

    #[test]
    fn frames_of_the_server_are_read_as_it_wrote_them() {
        let error = RpcError::new(&Failure::new(FailureKind::NotFound, "no such AID"));
        for outcome in [Ok(json!({ "pong": true })), Ok(Value::Null), Err(error)] {
            let written = Outgoing::response(RequestId::new("7"), outcome.clone()).to_text();
            let expected = ServerFrame::Response { id: json!("7"), outcome };
            assert!(parse(&written) == expected, "{written}");
        }
        let written = Notification::new("event/message.received", json!({ "seq": 1 })).to_text();
        let (method, params) = ("event/message.received".to_owned(), json!({ "seq": 1 }));
        assert!(parse(&written) == ServerFrame::Notification { method, params });
    }

    #[test]
    fn errors_of_other_servers_keep_code_and_message() {
        for text in [
            r#"{"id":1,"error":{"code":4040,"message":"no"}}"#,
            r#"{"id":1,"error":{"code":4040,"message":"no","data":"x"}}"#,
        ] {
            let ServerFrame::Response { outcome: Err(error), .. } = parse(text) else { panic!("{text}") };
            assert_eq!((error.code, &*error.message, &*error.data.failure_kind), (4040, "no", ""));
        }
    }

    #[test]
    fn other_texts_are_no_frames() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"id":1}"#,
            r#"{"method":3}"#,
            r#"{"id":1,"result":1,"error":{"code":1,"message":""}}"#,
        ] {
            assert!(parse_server_frame(text).is_err(), "{text}");
        }
    }

    #[test]
    fn server_reads_a_written_request() {
        let text = request_text(3, "meta.ping", json!({ "a": [1] }));
        let Ok(super::super::Incoming::Single(Some(Ok(request)))) = parse_frame(&text) else {
            panic!("{text}")
        };
        assert_eq!((request.id.as_value(), &*request.method), (&json!(3), "meta.ping"));
        assert_eq!(request.params, json!({ "a": [1] }));
    }

    proptest! {
        #[test]
        fn arbitrary_frames_are_parsed_without_panic(text in ".{0,80}") {
            let _parsed = parse_server_frame(&text);
        }
    }
}
