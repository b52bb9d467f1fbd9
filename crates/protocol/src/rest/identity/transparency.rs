//! The transparency log. Names of fields have underscores, as everywhere in AUN.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A signed tree head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreeHeadView {
    /// The form of the signed bytes: 1 is `TreeHeadSignature` of RFC 6962 (v1).
    pub sth_version: u32,
    /// SHA-256 of the public key, which names the log.
    pub log_id: String,
    /// The number of entries.
    pub tree_size: u64,
    /// In hexadecimal digits.
    pub root_hash: String,
    /// In milliseconds since 1970.
    pub timestamp: i64,
    #[schema(example = "sha256")]
    pub hash_algorithm: String,
    #[schema(example = "ecdsa-p256-sha256")]
    pub signature_algorithm: String,
    /// ECDSA in DER, in base64.
    pub signature: String,
    /// SubjectPublicKeyInfo in base64. Compare it with one that you got before.
    pub public_key: String,
}

/// An entry of the log: a certificate, or a published version of the manifest of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogEntryView {
    /// The index in the log, from 0.
    pub log_id: u64,
    /// When it was logged, in milliseconds since 1970. The leaf contains it.
    pub timestamp: i64,
    /// `certificate` or `agent_manifest`.
    #[schema(example = "certificate")]
    pub entry_type: String,
    #[schema(example = "guild.example")]
    pub issuer: String,
    /// SHA-256 of `MerkleTreeLeaf` of RFC 6962, after a zero byte.
    pub leaf_hash: String,
    /// Of a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "alice.guild.example")]
    pub aid: Option<String>,
    /// Of a certificate, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// SHA-256 of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_sha256: Option<String>,
    /// The certificate in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Of a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Of a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_version: Option<i64>,
    /// SHA-256 of the canonical JSON of the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_hash: Option<String>,
}

impl LogEntryView {
    pub const CERTIFICATE: &str = "certificate";
    pub const AGENT_MANIFEST: &str = "agent_manifest";
}

/// Entries by index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogEntriesView {
    pub entries: Vec<LogEntryView>,
}

/// A proof that an entry is in a log of a size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InclusionProofView {
    pub tree_size: u64,
    pub leaf_index: u64,
    pub leaf_hash: String,
    /// From the leaf to the root.
    pub hashes: Vec<String>,
}

/// A proof that the log of the first size is the beginning of the log of the second size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsistencyProofView {
    pub first: u64,
    pub second: u64,
    /// In the order of RFC 6962.
    pub hashes: Vec<String>,
}

/// Query parameters of entries.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogEntriesQuery {
    /// The index of the first entry.
    #[serde(default)]
    pub start: u64,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100)]
    pub limit: u32,
}

fn default_limit() -> u32 {
    100
}
