//! Webhooks.

pub mod deliveries;
pub mod listeners;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A webhook to create.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateWebhook {
    /// Where events are sent: https://, without user and fragment; http:// to the server's own machine only, where the
    /// operator allows its addresses.
    #[schema(min_length = 1, max_length = 2048, example = "https://hooks.example.org/guildhall")]
    pub url: String,
    /// Event types to send, each once: approval.requested, approval.decided, approval.withdrawn; with an agent message.new,
    /// artifact_response, h2a.reauth_required.
    #[schema(min_items = 1, max_items = 3, example = json!(["approval.requested"]))]
    pub events: Vec<String>,
    #[serde(default)]
    #[schema(max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub description: String,
    /// The agent whose messages are sent. Without it, the questions of all agents of the tenant are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "agt_01920000000070008000000000000000")]
    pub agent_id: Option<String>,
    /// Who sends the events: the server, or a program that asks for them (`listener`, with an agent only). The server never
    /// calls the URL of a listener, and deletes it when its program has not asked for 15 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(server|listener)$", example = "server")]
    pub sender: Option<String>,
}

/// A change of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateWebhook {
    /// Whether events are sent. What a disabled webhook has missed is sent on request.
    pub enabled: bool,
}

/// A sample event to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TriggerEvent {
    /// Any event type, whether the webhook is told about it or not.
    #[serde(rename = "type")]
    #[schema(
        pattern = r"^(approval\.(requested|decided|withdrawn)|message\.new|artifact_response|h2a\.reauth_required|webhook\.(disabled|test))$",
        example = "message.new"
    )]
    pub event_type: String,
}

/// A created webhook.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewWebhookView {
    #[schema(example = "whk_01920000000070008000000000000000")]
    pub id: String,
    /// The signing secret. Returned once; null in an idempotent replay of the request.
    pub secret: Option<String>,
}

/// The new signing secret of a webhook.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotatedWebhookView {
    pub id: String,
    /// The signing secret. Returned once.
    pub secret: String,
    /// Until then, the previous secret signs too.
    pub previous_secret_ends_at: Timestamp,
}

/// A test event that will be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookTestView {
    /// The `webhook-id` of the request.
    #[schema(example = "evt_01920000000070008000000000000000")]
    pub event_id: String,
}

/// Confirms that a webhook was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedWebhookView {
    pub id: String,
    /// Always true.
    pub deleted: bool,
}

/// The last failed attempt to send an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedDeliveryView {
    pub at: Timestamp,
    pub event_id: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    pub message: String,
    /// Whether the event is not sent again.
    pub is_final: bool,
}

/// A webhook, without its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    #[schema(example = "whk_01920000000070008000000000000000")]
    pub id: String,
    /// The agent whose messages are sent; null for a webhook of the tenant.
    pub agent_id: Option<String>,
    /// Who sends the events: server or listener.
    #[schema(example = "server")]
    pub sender: String,
    pub url: String,
    pub events: Vec<String>,
    pub description: String,
    pub created_by: String,
    pub created_at: Timestamp,
    /// False after the receiver answered 410, after five days without a success, or after somebody disabled it.
    pub enabled: bool,
    pub disabled_at: Option<Timestamp>,
    /// Why it is disabled: gone, failing or manual.
    #[schema(example = "gone")]
    pub disabled_reason: Option<String>,
    /// Until then, the previous secret signs too.
    pub previous_secret_ends_at: Option<Timestamp>,
    /// When a receiver last accepted an event.
    pub last_success_at: Option<Timestamp>,
    pub last_failure: Option<FailedDeliveryView>,
    /// Since when every attempt has failed.
    pub failing_since: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhooksView {
    pub webhooks: Vec<WebhookView>,
}
