//! Audit logs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Query parameters of a page.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct PageQuery {
    /// Return entries after this sequence number; 0 is the beginning.
    #[serde(default)]
    #[param(minimum = 0, default = 0)]
    pub after_seq: i64,
    /// Start this many entries before the end, to get the newest entries; 0 returns only the end position. With
    /// `afterSeq`, the later of the two positions is used.
    #[serde(default)]
    #[param(minimum = 0, maximum = 2147483647)]
    pub from_end: Option<i32>,
    /// Maximum number of entries, up to 500.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 500, default = 100)]
    pub limit: u32,
}

fn default_limit() -> u32 {
    100
}

/// An entry of an audit log. The same in pages and in streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntryView {
    /// Version of this format.
    #[schema(example = 1)]
    pub v: u32,
    /// Always `entry`: the frame type in streams.
    #[serde(default = "entry_type")]
    #[schema(example = "entry")]
    pub r#type: String,
    pub seq: i64,
    pub id: String,
    #[schema(example = "key.created")]
    pub action: String,
    /// Actor, address of the client (null for actions of the server itself), object and details; null if erased.
    pub body: Value,
    pub recorded_at: Timestamp,
    /// SHA-256 of the body as compact JSON with sorted keys. Null until the entry is sealed, a few seconds after it was
    /// recorded. Kept when the body is erased.
    #[schema(min_length = 64, max_length = 64)]
    pub body_hash: Option<String>,
    /// SHA-256 of the previous hash (64 zeros for the first entry), a line feed, and the compact JSON with sorted keys
    /// of action, bodyHash, id, recordedAt and seq. Null until the entry is sealed.
    #[schema(min_length = 64, max_length = 64)]
    pub hash: Option<String>,
    /// A signature over the log up to this entry. The server signs the last entry of each batch that it seals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointView>,
}

/// A signed statement: the hash of this log at this entry. It covers all entries before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointView {
    /// Id of the tenant, or `installation`.
    #[schema(example = "installation")]
    pub log: String,
    pub signed_at: Timestamp,
    /// First 16 hexadecimal digits of the SHA-256 of the public key.
    #[schema(min_length = 16, max_length = 16)]
    pub key_id: String,
    /// Ed25519 signature of the lines `guildhall audit checkpoint v1`, log, seq, hash and signedAt, each ended by a line
    /// feed.
    #[schema(min_length = 128, max_length = 128)]
    pub signature: String,
}

/// The key that verifies the checkpoints of all audit logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditPublicKeyView {
    #[schema(min_length = 16, max_length = 16)]
    pub key_id: String,
    /// Always `Ed25519`.
    #[schema(example = "Ed25519")]
    pub algorithm: String,
    /// The 32 bytes of the key in hexadecimal digits.
    #[schema(min_length = 64, max_length = 64)]
    pub public_key: String,
}

fn entry_type() -> String {
    "entry".to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditPageView {
    pub entries: Vec<AuditEntryView>,
    /// The `afterSeq` of the next page.
    pub next_after_seq: i64,
}
