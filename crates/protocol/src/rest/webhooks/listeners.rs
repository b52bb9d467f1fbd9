//! Listeners: a program asks for the events of a webhook, sends them itself, and reports the answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request for events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimEvents {
    /// Milliseconds to wait for an event, at most 30 s.
    #[serde(default)]
    #[schema(maximum = 60000)]
    pub wait: u64,
}

/// Events for the receiver of the program, at most one of each conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimedEventsView {
    pub events: Vec<ClaimedEventView>,
}

/// An event to send. It is handed out again after a minute without a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimedEventView {
    /// The `webhook-id` of the request.
    pub event_id: String,
    /// Names this hand-out in the report.
    pub claim: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The body of the request, which is signed as it is.
    pub body: String,
}

/// What the receiver has answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportEvent {
    #[schema(pattern = "^evt_[0-9a-f]{32}$")]
    pub event_id: String,
    #[schema(pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    pub claim: String,
    /// None if the receiver could not be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 999)]
    pub status: Option<u16>,
    pub duration_ms: u64,
}

/// Confirms a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedEventView {
    pub event_id: String,
}
