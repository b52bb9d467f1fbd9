//! Entries of the log: certificates and published manifests, with the time when they were logged.

use guildhall_domain::identity::{LogContent, LogEntry, LoggedCertificate, LoggedManifest, TreeHash};
use jiff::Timestamp;

use super::tree::leaf_hash;
use crate::pki::ParsedCertificate;

/// `v1`, `timestamped_entry` and `x509_entry` of RFC 6962, and the length of no extensions.
const VERSION: u8 = 0;
const LEAF_TYPE: u8 = 0;
const CERTIFICATE_TYPE: [u8; 2] = [0, 0];
const NO_EXTENSIONS: [u8; 2] = [0, 0];

/// `XJSONLogEntryType` of the Go library of Certificate Transparency: JSON in place of the certificate.
const JSON_TYPE: [u8; 2] = [0x80, 0];

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
pub fn certificate_leaf(logged_at: Timestamp, certificate: &[u8]) -> TreeHash {
    timestamped_leaf(logged_at, CERTIFICATE_TYPE, certificate)
}

/// Returns the hash of the leaf of a published manifest: the same with JSON.
#[must_use]
pub fn manifest_leaf(logged_at: Timestamp, manifest: &LoggedManifest) -> TreeHash {
    timestamped_leaf(logged_at, JSON_TYPE, manifest.leaf_json().as_bytes())
}

/// Returns the hash of the leaf of an entry.
#[must_use]
pub fn entry_leaf(entry: &LogEntry) -> TreeHash {
    match &entry.content {
        LogContent::Certificate(certificate) => certificate_leaf(entry.logged_at, &certificate.der),
        LogContent::Manifest(manifest) => manifest_leaf(entry.logged_at, manifest),
    }
}

fn timestamped_leaf(logged_at: Timestamp, entry_type: [u8; 2], content: &[u8]) -> TreeHash {
    let mut leaf = Vec::with_capacity(content.len() + 18);
    leaf.extend([VERSION, LEAF_TYPE]);
    leaf.extend(logged_at.as_millisecond().to_be_bytes());
    leaf.extend(entry_type);
    // The length has three bytes. Certificates of this issuer have about 500 bytes.
    leaf.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes().into_iter().skip(1));
    leaf.extend(content);
    leaf.extend(NO_EXTENSIONS);
    leaf_hash(&leaf)
}

/// Verifies what an entry says about its certificate.
pub fn verify_certificate(logged: &LoggedCertificate) -> Result<(), EntryMismatch> {
    let parsed = ParsedCertificate::from_der(&logged.der).map_err(|_| EntryMismatch::Certificate)?;
    let checks = [
        ("subject", parsed.common_name == logged.aid.to_string()),
        ("serial number", parsed.serial == logged.serial),
        ("fingerprint", parsed.fingerprint == logged.fingerprint),
    ];
    match checks.iter().find(|(_, is_equal)| !is_equal) {
        Some((field, _)) => Err(EntryMismatch::Field(field)),
        None => Ok(()),
    }
}
