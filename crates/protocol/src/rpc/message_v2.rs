//! The methods of clients that keep one cursor for each sender, and of both versions of end-to-end encryption.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::message::MessageRow;

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct PeersParams {
    /// `pending`: only senders with messages that this client has not confirmed. `all`: page by page.
    #[serde(default)]
    pub filter: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub page_token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeersResult {
    /// Always `peer`.
    pub cursor_scope: String,
    pub receiver_aid: String,
    pub device_id: String,
    pub slot_id: String,
    /// Always true.
    pub catalog_ready: bool,
    /// Where a new device begins: it never changes.
    pub bootstrap_floor_seq: i64,
    /// With `pending`, at most 5,000: those whose last message is the oldest. The next list has further ones once these are confirmed.
    pub peers: Vec<PeerRow>,
    /// In lists of all senders alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// A sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeerRow {
    pub sender_aid: String,
    pub head_seq: i64,
    pub server_ack_seq: i64,
    pub initial_after_seq: i64,
    /// The oldest message that this client has not confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_pending_seq: Option<i64>,
    /// Always false.
    pub volatile_has_more: bool,
    /// Messages up to this one are gone.
    pub retention_floor_seq: i64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct PullV2Params {
    /// `peer`: the messages of `sender_aid` alone.
    #[serde(default)]
    pub cursor_scope: Option<String>,
    #[serde(default)]
    pub sender_aid: Option<String>,
    #[serde(default)]
    pub after_seq: i64,
    #[serde(default)]
    pub limit: Option<u32>,
    /// Confirms messages up to this one first.
    #[serde(default)]
    pub ack_up_to_seq: Option<i64>,
    /// That of the connection, or none.
    #[serde(default)]
    pub device_id: Option<String>,
    /// That of the connection, or none.
    #[serde(default)]
    pub slot_id: Option<String>,
}

/// A page over all senders, or of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PullV2Result {
    Peer(Box<PeerPage>),
    All(Box<AllPage>),
}

/// A page of one sender. It holds every message of that sender after `scan_after_seq` up to `covered_through_seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PeerPage {
    /// Always `peer`.
    pub cursor_scope: String,
    pub sender_aid: String,
    pub device_id: String,
    pub slot_id: String,
    pub messages: Vec<MessageRow>,
    pub count: usize,
    pub scan_after_seq: i64,
    pub covered_through_seq: i64,
    /// The same as `covered_through_seq`.
    pub next_after_seq: i64,
    pub head_seq: i64,
    pub persistent_has_more: bool,
    /// Always false.
    pub volatile_has_more: bool,
    pub has_more: bool,
    pub retention_floor_seq: i64,
    pub server_ack_seq: i64,
}

/// A page over all senders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AllPage {
    pub messages: Vec<MessageRow>,
    pub count: usize,
    pub latest_seq: i64,
    pub has_more: bool,
    pub server_ack_seq: i64,
    /// Always 0: gaps at the beginning are expired messages.
    pub retention_floor_seq: i64,
    pub ephemeral_earliest_available_seq: Option<i64>,
    pub ephemeral_dropped_count: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AckV2Params {
    /// Confirms this message and all before it.
    pub up_to_seq: i64,
    /// `peer`: the messages of `sender_aid` alone.
    #[serde(default)]
    pub cursor_scope: Option<String>,
    #[serde(default)]
    pub sender_aid: Option<String>,
    /// That of the connection, or none.
    #[serde(default)]
    pub device_id: Option<String>,
    /// That of the connection, or none.
    #[serde(default)]
    pub slot_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AckV2Result {
    /// Always true.
    pub success: bool,
    pub ack_seq: i64,
    /// `peer`, where one sender was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor_scope: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_aid: Option<String>,
    /// The same as `ack_seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_ack_seq: Option<i64>,
    /// The same as `ack_seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_ack_seq: Option<i64>,
}

/// A prekey of the first version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PrekeyBody {
    pub prekey_id: String,
    /// SubjectPublicKeyInfo in base64.
    pub public_key: String,
    /// ECDSA signature in DER, in base64, by the key of the AID over `prekey_id|public_key|created_at`.
    pub signature: String,
    /// In milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_fingerprint: Option<String>,
    #[serde(default)]
    pub device_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoredResult {
    /// Always true.
    pub success: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GetPrekeyParams {
    pub aid: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GetPrekeyResult {
    /// False: seal the message for the key of the certificate.
    pub found: bool,
    /// One for each device.
    pub device_prekeys: Vec<PrekeyBody>,
    /// The newest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prekey: Option<PrekeyBody>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PutPeerKeyParams {
    /// The AID of the connection.
    #[serde(default)]
    pub peer_aid: Option<String>,
    /// `sha256:` and the first 16 digits of the SHA-256 of the key.
    pub spk_id: String,
    /// SubjectPublicKeyInfo in base64.
    pub spk_pk: String,
    /// ECDSA signature as r and s, in base64, by the key of the AID over the key, its id and the timestamp.
    pub spk_signature: String,
    /// In seconds since 1970.
    pub spk_timestamp: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BootstrapParams {
    pub peer_aid: String,
}

/// What a sender needs to seal a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BootstrapResult {
    pub peer_aid: String,
    /// One for each device; one with an empty `device_id` where no device has stored a key.
    pub peer_devices: Vec<DeviceKeyBody>,
    /// Always empty: nobody else can read.
    pub audit_recipients: Vec<DeviceKeyBody>,
    /// The certificate of the peer.
    pub certs: BTreeMap<String, CertificateBody>,
    /// The peer is an agent whose key this server holds: messages to it are not encrypted end to end.
    #[serde(default)]
    pub hosted: bool,
}

/// The key of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceKeyBody {
    pub aid: String,
    pub device_id: String,
    /// The key of the AID's certificate: SubjectPublicKeyInfo in base64.
    pub ik_pk: String,
    /// `peer_device_prekey`, or `aid_master` without a key of the device.
    pub key_source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spk_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spk_pk: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spk_signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spk_timestamp: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CertificateBody {
    pub cert_pem: String,
}
