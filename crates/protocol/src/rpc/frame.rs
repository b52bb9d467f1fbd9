//! Frames: requests and notifications of a client, responses and notifications of the server.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::RpcError;
use super::limits::{MAX_BATCH, MAX_FRAME_BYTES, MAX_FRAME_VALUES, MAX_ID_BYTES};
use super::strict_json::{self, StrictJsonError};

/// The member of parameters that signs them.
const SIGNATURE: &str = "client_signature";

/// The id of a request, repeated in its response. Clients use strings and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RequestId(Value);

/// A call that gets a response. Its debug output hides the parameters: they may hold a credential.
#[derive(Clone, PartialEq)]
pub struct Request {
    pub id: RequestId,
    pub method: String,
    pub params: Value,
    /// The text of the parameters, if they are signed: a signature covers numbers as they were written.
    pub signed_params: Option<Box<str>>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("id", &self.id).field("method", &self.method).finish_non_exhaustive()
    }
}

/// A frame of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// One message. A notification has no response.
    Single(Option<Result<Request, InvalidRequest>>),
    /// Several messages, in the order of the batch.
    Batch(Vec<Option<Result<Request, InvalidRequest>>>),
}

/// JSON that is no request. The id is null where it cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidRequest {
    pub id: RequestId,
    message: &'static str,
}

impl InvalidRequest {
    #[must_use]
    pub fn to_rpc_error(&self) -> RpcError {
        RpcError::invalid_request(self.message)
    }
}

/// A frame that cannot be read at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("the frame is larger than {MAX_FRAME_BYTES} bytes")]
    TooLarge,
    #[error("the frame is not JSON")]
    NotJson,
    #[error("the frame has an object with two members of the same name")]
    DuplicateKey,
    #[error("the frame has more than {MAX_FRAME_VALUES} JSON values")]
    TooManyValues,
    #[error("a batch has 1 to {MAX_BATCH} requests")]
    BatchSize,
}

impl FrameError {
    #[must_use]
    pub fn to_rpc_error(self) -> RpcError {
        match self {
            Self::NotJson => RpcError::parse_error(self.to_string()),
            Self::TooLarge | Self::DuplicateKey | Self::TooManyValues | Self::BatchSize => {
                RpcError::invalid_request(self.to_string())
            }
        }
    }
}

/// Parses a text frame.
pub fn parse_frame(text: &str) -> Result<Incoming, FrameError> {
    if text.len() > MAX_FRAME_BYTES {
        return Err(FrameError::TooLarge);
    }
    let value = strict_json::parse(text).map_err(|error| match error {
        StrictJsonError::Malformed => FrameError::NotJson,
        StrictJsonError::DuplicateKey => FrameError::DuplicateKey,
        StrictJsonError::TooManyValues => FrameError::TooManyValues,
    })?;
    match value {
        Value::Array(items) if items.is_empty() || items.len() > MAX_BATCH => Err(FrameError::BatchSize),
        Value::Array(items) => {
            let texts: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| FrameError::NotJson)?;
            let messages = items.into_iter().zip(texts);
            Ok(Incoming::Batch(messages.map(|(item, text)| parse_message(item, text.get())).collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Ok(Incoming::Single(parse_message(value, text)))
        }
    }
}

/// Parses a message that was read from a text. Returns none for a notification.
fn parse_message(value: Value, text: &str) -> Option<Result<Request, InvalidRequest>> {
    let Value::Object(mut members) = value else {
        return Some(Err(invalid(RequestId::NULL, "a request is an object")));
    };
    let id = match members.remove("id") {
        Some(Value::String(id)) if id.len() > MAX_ID_BYTES => {
            return Some(Err(invalid(RequestId::NULL, "id: too long")));
        }
        Some(id @ (Value::String(_) | Value::Number(_))) => RequestId(id),
        // Without an id it is a notification; clients send null for the same.
        None | Some(Value::Null) if members.get("method").is_some_and(Value::is_string) => return None,
        Some(_) | None => return Some(Err(invalid(RequestId::NULL, "id: expected a string or a number"))),
    };
    Some(parse_request(id, members, text))
}

fn parse_request(
    id: RequestId,
    mut members: Map<String, Value>,
    text: &str,
) -> Result<Request, InvalidRequest> {
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(id, "jsonrpc: expected \"2.0\""));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(invalid(id, "method: expected a string"));
    };
    let params = match members.remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params @ Value::Object(_)) => params,
        Some(_) => return Err(invalid(id, "params: expected an object")),
    };
    let signed_params = params.get(SIGNATURE).map(|_| params_text(text));
    Ok(Request { id, method, params, signed_params })
}

/// Returns the text of the parameters of a message.
fn params_text(message: &str) -> Box<str> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        params: &'a RawValue,
    }

    // The message was parsed before. No signature covers an empty text.
    serde_json::from_str(message).map(|message: Message<'_>| message.params.get().into()).unwrap_or_default()
}

fn invalid(id: RequestId, message: &'static str) -> InvalidRequest {
    InvalidRequest { id, message }
}

impl RequestId {
    /// The id of a response to a request whose id cannot be read.
    pub const NULL: Self = Self(Value::Null);

    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Value::String(text.into()))
    }

    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

/// A frame of the server. It has no `Debug`: a result may hold a credential.
#[derive(Clone, PartialEq)]
pub struct Outgoing(Value);

impl Outgoing {
    #[must_use]
    pub fn response(id: RequestId, outcome: Result<Value, RpcError>) -> Self {
        let mut members = Map::new();
        members.insert("jsonrpc".to_owned(), "2.0".into());
        members.insert("id".to_owned(), id.0);
        match outcome {
            Ok(result) => members.insert("result".to_owned(), result),
            Err(error) => members.insert("error".to_owned(), serde_json::json!(error)),
        };
        Self(Value::Object(members))
    }

    /// Returns the frame of several responses.
    #[must_use]
    pub fn batch(responses: Vec<Self>) -> Self {
        Self(Value::Array(responses.into_iter().map(|response| response.0).collect()))
    }

    #[must_use]
    pub fn to_text(&self) -> String {
        self.0.to_string()
    }
}

/// A notification of the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Notification<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

impl<P: Serialize> Notification<P> {
    #[must_use]
    pub fn new(method: &'static str, params: P) -> Self {
        Self { jsonrpc: "2.0", method, params }
    }

    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn single(text: &str) -> Result<Request, InvalidRequest> {
        match parse_frame(text) {
            Ok(Incoming::Single(Some(request))) => request,
            other => panic!("not one request: {other:?}"),
        }
    }

    #[test]
    fn request_is_parsed_with_a_string_or_a_number_as_its_id() {
        for id in [json!("rpc-1"), json!(30), json!(-1), json!(1.5), json!("")] {
            let text = json!({ "jsonrpc": "2.0", "id": id, "method": "meta.ping" }).to_string();
            let (method, params) = ("meta.ping".to_owned(), json!({}));
            let expected = Request { id: RequestId(id), method, params, signed_params: None };
            assert_eq!(single(&text), Ok(expected));
        }
    }

    #[test]
    fn json_that_is_no_request_is_rejected_with_its_id() {
        let message = |text: &str| single(text).map_err(|invalid| (invalid.id.0, invalid.message));
        for (text, id, expected) in [
            ("3", json!(null), "a request is an object"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, json!(null), "id: expected a string or a number"),
            (r#"{"id":1,"method":"a"}"#, json!(1), "jsonrpc: expected \"2.0\""),
            (r#"{"jsonrpc":"2.0","id":"x","method":7}"#, json!("x"), "method: expected a string"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#, json!(1), "params: expected an object"),
        ] {
            assert_eq!(message(text), Err((id, expected)), "{text}");
        }
    }

    #[test]
    fn signed_parameters_keep_their_text() {
        let params = r#"{ "n": 1.0, "client_signature": {"aid":"a"} }"#;
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"message.send","params": {params} }}"#);
        assert_eq!(single(&request).map(|request| request.signed_params), Ok(Some(params.into())));
        let unsigned = r#"{"jsonrpc":"2.0","id":2,"method":"message.send","params":{"n":1.0}}"#;
        let batch = parse_frame(&format!("[{unsigned}, {request}]")).expect("a batch");
        let Incoming::Batch(messages) = batch else { panic!("a batch") };
        let texts: Vec<_> = messages
            .into_iter()
            .map(|message| message.expect("a request").expect("valid").signed_params)
            .collect();
        assert_eq!(texts, [None, Some(params.into())]);
    }

    #[test]
    fn notifications_have_no_response() {
        for text in [
            r#"{"jsonrpc":"2.0","method":"notification/x"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"event/x","params":{}}"#,
        ] {
            assert_eq!(parse_frame(text), Ok(Incoming::Single(None)), "{text}");
        }
    }

    #[test]
    fn frames_over_a_limit_are_rejected() {
        assert_eq!(parse_frame("[]"), Err(FrameError::BatchSize));
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "meta.ping" });
        let batch = |count: usize| parse_frame(&json!(vec![request.clone(); count]).to_string());
        assert!(batch(MAX_BATCH).is_ok());
        assert_eq!(batch(MAX_BATCH + 1), Err(FrameError::BatchSize));
        let large = " ".repeat(MAX_FRAME_BYTES + 1);
        assert_eq!(parse_frame(&large), Err(FrameError::TooLarge));
        assert_eq!(parse_frame(r#"{"id":1,"id":2}"#), Err(FrameError::DuplicateKey));
        assert_eq!(parse_frame("{"), Err(FrameError::NotJson));
        let values =
            |count: usize| parse_frame(&json!({ "method": "a", "params": vec![0; count] }).to_string());
        // With the object, its method and the list.
        assert_eq!(values(MAX_FRAME_VALUES - 3), Ok(Incoming::Single(None)));
        assert_eq!(values(MAX_FRAME_VALUES - 2), Err(FrameError::TooManyValues));
        let error = FrameError::TooManyValues.to_rpc_error();
        assert_eq!(
            (error.code, error.message.as_str()),
            (-32600, "the frame has more than 20000 JSON values")
        );
    }

    proptest! {
        #[test]
        fn arbitrary_frames_are_parsed_without_panic(text in ".{0,80}") {
            let _parsed = parse_frame(&text);
        }
    }
}
