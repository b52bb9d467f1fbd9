//! The log of deliveries.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Query parameters of the log.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveriesQuery {
    /// The `nextCursor` of the page before.
    #[param(max_length = 18, pattern = "^[0-9]+$")]
    pub cursor: Option<String>,
    /// Only events in this state: waiting, delivered or missed.
    #[param(pattern = "^(waiting|delivered|missed)$")]
    pub state: Option<String>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

fn default_limit() -> u32 {
    50
}

/// A page of the log, newest events first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveriesView {
    pub deliveries: Vec<DeliveryView>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// An event of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// The `webhook-id` of its requests.
    #[schema(example = "evt_01920000000070008000000000000000")]
    pub event_id: String,
    /// Null for a type of a newer version.
    #[serde(rename = "type")]
    #[schema(example = "message.new")]
    pub event_type: Option<String>,
    /// waiting, delivered or missed.
    #[schema(example = "delivered")]
    pub state: String,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// Null while it is sent, while it waits for an earlier event of its conversation, and after its end.
    pub next_attempt_at: Option<Timestamp>,
    /// The newest 20 attempts, oldest first.
    pub attempts: Vec<AttemptView>,
}

/// An attempt to send an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// Number of the attempt, from 1 after each request to send the event again.
    pub attempt: u32,
    pub at: Timestamp,
    /// Null without an answer.
    pub status: Option<u16>,
    pub duration_ms: u64,
    /// Null if the receiver has accepted the event.
    pub error: Option<String>,
}

/// Which events to send again: one, or those of a window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResendEvents {
    /// One event, whatever its state. Without a window only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "evt_01920000000070008000000000000000")]
    pub event_id: Option<String>,
    /// Events that were created at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Events that were created before this time; all later ones without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Which events of the window: `failed`, those that the receiver has not accepted (the default), or `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(failed|all)$", example = "failed")]
    pub only: Option<String>,
}

/// How many events are sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResentView {
    /// At most 10,000, the oldest ones.
    pub events: u32,
}
