//! An answer, before it becomes bytes.

use std::time::Duration;

use serde_json::{Value, json};

/// What goes back to the agent.
#[derive(Debug)]
pub(super) enum Reply {
    Whole { status: u16, body: Value },
    Stream(Vec<Step>),
}

/// One step of a streamed answer.
#[derive(Debug)]
pub(super) enum Step {
    /// A server-sent event, with its type as its name where the protocol names events.
    Event(Value),
    /// Words that are no JSON, as they are.
    Data(&'static str),
    Pause(Duration),
    /// The connection ends here, the answer does not.
    Cut,
}

impl Reply {
    pub(super) fn refusal(status: u16) -> Self {
        let (kind, message) = match status {
            401 => ("invalid_api_key", "the fake model does not know this key"),
            404 => ("not_found", "the fake model does not know this address"),
            429 => ("rate_limit_exceeded", "the fake model was asked too often"),
            _ => ("server_error", "the fake model exploded"),
        };
        let body = json!({ "error": { "message": message, "type": kind, "code": kind } });
        Self::Whole { status, body }
    }
}
