//! The methods `message.*`, except those of end-to-end encryption.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::auth::DeliveryMode;

#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct SendParams {
    /// The AID of the recipient.
    #[schema(example = "bobby.guild.example")]
    pub to: String,
    /// The one device of the recipient that a message is sealed for, second version of end-to-end encryption. By default, all.
    #[serde(default)]
    pub device_id: Option<String>,
    /// Any JSON object. Its `type` is for the application, except for sealed messages.
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    #[serde(default, rename = "type")]
    pub envelope_type: String,
    /// The payload is sealed.
    #[serde(default)]
    pub encrypted: bool,
    /// Chosen by the sender, so that a repeated send is recognised.
    #[serde(default)]
    pub message_id: Option<String>,
    #[serde(default)]
    pub delivery_mode: Option<DeliveryMode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SendResult {
    pub message_id: String,
    /// The position in the inbox of the recipient.
    pub seq: i64,
    /// Time of the server in milliseconds since 1970.
    pub timestamp: i64,
    /// `sent`, or `duplicate` where the sender has sent it before.
    pub status: String,
    /// `fanout` or `queue`.
    pub delivery_mode: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct PullParams {
    #[serde(default)]
    pub after_seq: i64,
    /// At most 200; 100 by default.
    #[serde(default)]
    pub limit: Option<u32>,
    /// That of the connection, or none.
    #[serde(default)]
    pub device_id: Option<String>,
    /// That of the connection, or none.
    #[serde(default)]
    pub slot_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PullResult {
    /// In the order of `seq`.
    pub messages: Vec<MessageRow>,
    pub count: usize,
    /// Continue after this one. Messages that this device cannot open are counted, but not returned.
    pub latest_seq: i64,
    pub has_more: bool,
    /// Up to here everything is confirmed, or not for this device.
    pub server_ack_seq: i64,
    /// The oldest message of the mode `queue` that is still there.
    pub ephemeral_earliest_available_seq: Option<i64>,
    /// How many messages of the mode `queue` are gone.
    pub ephemeral_dropped_count: u64,
}

/// A message, with the members that clients of both versions read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessageRow {
    pub message_id: String,
    pub seq: i64,
    pub from: String,
    /// The same as `from`.
    pub from_aid: String,
    pub to: String,
    /// Time of the server in milliseconds since 1970.
    pub timestamp: i64,
    /// The same as `timestamp`.
    pub t_server: i64,
    #[serde(rename = "type")]
    pub envelope_type: String,
    /// `fanout` or `queue`.
    pub delivery_mode: String,
    pub encrypted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Value>,
    /// The messages that were recalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_ids: Option<Vec<String>>,
    /// The device that the copy is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// `outbound_sync`: a copy of a message that another device of this AID has sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// `v2` for sealed messages of the second version, else `v1`; in pages alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The envelope of a sealed message of the second version, as JSON. In pages of `message.pull` it is the payload too, and large
    /// ones are the payload alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope_json: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy_v1: Option<LegacyPayload>,
    /// The last durable message of the same sender before this one; 0 if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev_peer_seq: Option<i64>,
}

/// The payload again, in the place where clients of the second version read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LegacyPayload {
    #[schema(value_type = Object)]
    pub payload: Value,
    pub to: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AckParams {
    /// Confirms this message and all before it.
    pub seq: i64,
    /// That of the connection, or none.
    #[serde(default)]
    pub device_id: Option<String>,
    /// That of the connection, or none.
    #[serde(default)]
    pub slot_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AckResult {
    /// Always true.
    pub success: bool,
    /// How far this client has confirmed: never less than before.
    pub ack_seq: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RecallParams {
    /// At most 100.
    pub message_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallResult {
    /// Always true.
    pub success: bool,
    /// How many ids were accepted.
    pub accepted: usize,
    pub recalled: usize,
    /// Null where all were recalled.
    pub errors: Option<Vec<RecallFailure>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecallFailure {
    pub message_id: String,
    /// `not_found`, `not_sender`, `already_recalled` or `expired`.
    pub error: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct QueryOnlineParams {
    /// At most 100.
    pub aids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueryOnlineResult {
    /// By AID. False also where nobody knows.
    pub online: BTreeMap<String, bool>,
}

/// The parameters of `event/message.ack`: somebody has confirmed messages of this AID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AckEvent {
    /// The AID that has confirmed.
    pub to: String,
    pub device_id: String,
    pub slot_id: String,
    pub ack_seq: i64,
    pub timestamp: i64,
}

/// The parameters of `event/message.recalled`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecalledEvent {
    pub from: String,
    pub to: String,
    pub message_ids: Vec<String>,
    pub timestamp: i64,
    /// The position of this notice in the inbox.
    pub seq: i64,
}

/// The parameters of `event/peer.v2.message_received`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PeerMessageEvent {
    pub seq: i64,
    pub message_id: String,
    pub from_aid: String,
    pub to: String,
    pub t_server: i64,
    /// The last durable message of the same sender before this one; 0 if there was none.
    pub prev_peer_seq: i64,
    /// The whole message, for clients that ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_message: Option<MessageRow>,
}
