//! A stored event, as the fold reads it.

use guildhall_domain::ids::{CommandId, RunId};
use jiff::Timestamp;
use serde_json::Value;

/// An event of the journal of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEvent {
    pub run: RunId,
    /// Number of the run in its session.
    pub ordinal: i32,
    pub seq: i64,
    pub kind: String,
    pub command: Option<CommandId>,
    /// None if the event was erased.
    pub payload: Option<Value>,
    pub recorded_at: Timestamp,
    /// Whether it arrived after its command had ended.
    pub late: bool,
}

impl JournalEvent {
    /// Returns a text of the payload; empty if it is missing or of another type.
    pub(super) fn text(&self, name: &str) -> &str {
        self.optional_text(name).unwrap_or_default()
    }

    pub(super) fn optional_text(&self, name: &str) -> Option<&str> {
        self.field(name)?.as_str().filter(|text| !text.is_empty())
    }

    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.payload.as_ref()?.get(name)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.field(name).and_then(Value::as_bool).unwrap_or(false)
    }
}
