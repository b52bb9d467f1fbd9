//! Audit logs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Where a page begins.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct PageQuery {
    /// Entries after this number; 0 is the beginning.
    #[serde(default)]
    #[param(minimum = 0, default = 0)]
    pub after_seq: i64,
    /// Begins this many entries before the end, so that the newest need no paging through all others; 0 tells where the
    /// end is. With `afterSeq` it begins at the later of the two.
    #[serde(default)]
    #[param(minimum = 0, maximum = 2147483647)]
    pub from_end: Option<i32>,
    /// How many at most, up to 500.
    #[serde(default = "page_size")]
    #[param(minimum = 1, maximum = 500, default = 100)]
    pub limit: u32,
}

fn page_size() -> u32 {
    100
}

/// One entry of a log; the same in a page and in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntryView {
    /// The version of this form.
    #[schema(example = 1)]
    pub v: u32,
    /// Always `entry`: what this is among the frames of a stream.
    #[serde(default = "entry")]
    #[schema(example = "entry")]
    pub r#type: String,
    pub seq: i64,
    pub id: String,
    #[schema(example = "key.created")]
    pub action: String,
    /// Who, to what, and how; null when erased.
    pub body: Value,
    pub recorded_at: Timestamp,
    /// SHA-256 of the body as compact JSON with sorted keys; null until the entry is sealed, some seconds after it
    /// was recorded. It stays when the body is erased.
    #[schema(min_length = 64, max_length = 64)]
    pub body_hash: Option<String>,
    /// SHA-256 of the hash before it (64 zeros before the first), a line feed, and the compact JSON with sorted keys
    /// of action, bodyHash, id, recordedAt and seq; null until the entry is sealed.
    #[schema(min_length = 64, max_length = 64)]
    pub hash: Option<String>,
}

fn entry() -> String {
    "entry".to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditPageView {
    pub entries: Vec<AuditEntryView>,
    /// The number to go on after.
    pub next_after_seq: i64,
}
