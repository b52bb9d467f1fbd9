//! A response of the model, before it is encoded as HTTP.

use std::time::Duration;

use serde_json::{Value, json};

/// A response to the agent.
#[derive(Debug)]
pub(super) enum Reply {
    Json { status: u16, body: Value },
    Stream(Vec<Step>),
}

/// One step of a streamed response.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A server-sent event; its `type` field, if any, becomes the event name.
    Event(Value),
    /// Event data that is not JSON.
    Data(&'static str),
    Pause(Duration),
    /// Closes the connection before the response is complete.
    Disconnect,
}

impl Reply {
    pub(super) fn error(status: u16) -> Self {
        let (kind, message) = match status {
            401 => ("invalid_api_key", "unknown API key"),
            404 => ("not_found", "unknown path"),
            429 => ("rate_limit_exceeded", "rate limit exceeded"),
            _ => ("server_error", "internal server error"),
        };
        let body = json!({ "error": { "message": message, "type": kind, "code": kind } });
        Self::Json { status, body }
    }
}
