//! The log of all certificates: its entries, the nodes of its tree and its heads.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::aid::Aid;
use super::certificate::{CertificateFingerprint, Serial};

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

/// A certificate in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The number of entries before it.
    pub index: u64,
    /// In whole milliseconds.
    pub logged_at: Timestamp,
    pub serial: Serial,
    pub aid: Aid,
    /// The certificate in DER.
    pub der: Vec<u8>,
    /// SHA-256 of the certificate.
    pub fingerprint: CertificateFingerprint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_hash_has_64_digits() {
        let hash = TreeHash::new([0xab; 32]);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for text in ["", "ab", &"g".repeat(64), &"a".repeat(66)] {
            assert_eq!(text.parse::<TreeHash>(), Err(InvalidTreeHash), "{text}");
        }
    }
}
