//! Entries of the log: certificates, with the time when they were logged.

use guildhall_domain::identity::{LogEntry, TreeHash};
use jiff::Timestamp;

use super::tree::leaf_hash;
use crate::pki::ParsedCertificate;

/// `v1`, `timestamped_entry` and `x509_entry` of RFC 6962, and the length of no extensions.
const VERSION: u8 = 0;
const LEAF_TYPE: u8 = 0;
const ENTRY_TYPE: [u8; 2] = [0, 0];
const NO_EXTENSIONS: [u8; 2] = [0, 0];

/// What an entry says about its certificate is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryMismatch {
    #[error("the certificate cannot be read")]
    Certificate,
    #[error("the {0} is not the one of the certificate")]
    Field(&'static str),
}

/// Returns the hash of the leaf of a certificate: `MerkleTreeLeaf` of RFC 6962, section 3.4.
#[must_use]
pub fn entry_hash(logged_at: Timestamp, certificate: &[u8]) -> TreeHash {
    let mut leaf = Vec::with_capacity(certificate.len() + 18);
    leaf.extend([VERSION, LEAF_TYPE]);
    leaf.extend(logged_at.as_millisecond().to_be_bytes());
    leaf.extend(ENTRY_TYPE);
    // The length has three bytes. Certificates of this issuer have about 500 bytes.
    leaf.extend(u32::try_from(certificate.len()).unwrap_or(u32::MAX).to_be_bytes().into_iter().skip(1));
    leaf.extend(certificate);
    leaf.extend(NO_EXTENSIONS);
    leaf_hash(&leaf)
}

/// Verifies what an entry says about its certificate.
pub fn verify_entry(entry: &LogEntry) -> Result<(), EntryMismatch> {
    let parsed = ParsedCertificate::from_der(&entry.der).map_err(|_| EntryMismatch::Certificate)?;
    let checks = [
        ("subject", parsed.common_name == entry.aid.to_string()),
        ("serial number", parsed.serial == entry.serial),
        ("fingerprint", parsed.fingerprint == entry.fingerprint),
    ];
    match checks.iter().find(|(_, is_equal)| !is_equal) {
        Some((field, _)) => Err(EntryMismatch::Field(field)),
        None => Ok(()),
    }
}
