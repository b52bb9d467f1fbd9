//! The log of all certificates and published manifests: its entries, the nodes of its tree and its heads.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::aid::Aid;
use super::certificate::{CertificateFingerprint, Serial};
use crate::agents::manifest::document::ManifestHash;
use crate::ids::AgentId;

/// The text is not a hash of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid tree hash: expected 64 hexadecimal digits")]
pub struct InvalidTreeHash;

/// The hash of a leaf or of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TreeHash([u8; 32]);

impl TreeHash {
    #[must_use]
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for TreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for TreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TreeHash {
    type Err = InvalidTreeHash;

    fn from_str(text: &str) -> Result<Self, InvalidTreeHash> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).map_err(|_| InvalidTreeHash)?;
        Ok(Self(hash))
    }
}

/// A node over `2^level` leaves, the `index`th of its level from the left. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    pub level: u8,
    pub index: u64,
}

/// The size and the root of the log at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    pub size: u64,
    pub root: TreeHash,
    /// In whole milliseconds.
    pub at: Timestamp,
}

/// A tree head with the signature of the log: ECDSA in DER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTreeHead {
    pub head: TreeHead,
    pub signature: Vec<u8>,
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The number of entries before it.
    pub index: u64,
    /// In whole milliseconds.
    pub logged_at: Timestamp,
    pub content: LogContent,
}

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogContent {
    Certificate(LoggedCertificate),
    Manifest(LoggedManifest),
}

/// A certificate in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCertificate {
    pub serial: Serial,
    pub aid: Aid,
    /// The certificate in DER.
    pub der: Vec<u8>,
    /// SHA-256 of the certificate.
    pub fingerprint: CertificateFingerprint,
}

/// A published version of the manifest of an agent in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedManifest {
    pub agent: AgentId,
    pub version: i64,
    pub hash: ManifestHash,
}

impl LoggedManifest {
    /// Returns what the leaf contains: canonical JSON, whose members are sorted.
    #[must_use]
    pub fn leaf_json(&self) -> String {
        let Self { agent, version, hash } = self;
        format!(r#"{{"agent_id":"{agent}","manifest_hash":"{hash}","manifest_version":{version}}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaf_of_a_manifest_is_canonical_json() {
        let manifest = LoggedManifest {
            agent: AgentId::from_uuid(uuid::Uuid::from_u128(7)),
            version: 3,
            hash: ManifestHash::new([0xab; 32]),
        };
        let value: serde_json::Value = serde_json::from_str(&manifest.leaf_json()).expect("JSON");
        let expected = serde_json::json!({
            "agent_id": "agt_00000000000000000000000000000007", "manifest_version": 3, "manifest_hash": "ab".repeat(32),
        });
        assert_eq!(value, expected);
        assert_eq!(serde_json_canonicalizer::to_string(&value).expect("canonical"), manifest.leaf_json());
    }

    #[test]
    fn tree_hash_has_64_digits() {
        let hash = TreeHash::new([0xab; 32]);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for text in ["", "ab", &"g".repeat(64), &"a".repeat(66)] {
            assert_eq!(text.parse::<TreeHash>(), Err(InvalidTreeHash), "{text}");
        }
    }
}
