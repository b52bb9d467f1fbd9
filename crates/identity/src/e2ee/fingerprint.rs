//! Fingerprints as envelopes have them.

use guildhall_domain::identity::CertificateFingerprint;

use super::error::EnvelopeError;
use crate::pki::{P256PublicKey, ParsedCertificate};

pub const FINGERPRINT_PREFIX: &str = "sha256:";

/// Digits of the short form.
const SHORT_HEX: usize = 16;

/// Returns the short fingerprint of a key: of the identity key of a recipient, and the id of an SPK.
#[must_use]
pub fn key_fingerprint(key: &P256PublicKey) -> String {
    let digits = key.fingerprint().to_string();
    format!("{FINGERPRINT_PREFIX}{}", digits.get(..SHORT_HEX).unwrap_or_default())
}

/// Returns the fingerprint of a certificate.
#[must_use]
pub fn certificate_fingerprint(fingerprint: &CertificateFingerprint) -> String {
    format!("{FINGERPRINT_PREFIX}{fingerprint}")
}

/// Checks that a fingerprint, in the long or the short form, is one of a certificate or of its key.
pub(super) fn check_certificate(
    fingerprint: &str,
    certificate: &ParsedCertificate,
) -> Result<(), EnvelopeError> {
    let digits = fingerprint.strip_prefix(FINGERPRINT_PREFIX).ok_or(EnvelopeError::SenderCertificate)?;
    let hashes = [certificate.fingerprint, certificate.public_key.fingerprint()].map(|hash| hash.to_string());
    let forms = hashes.iter().flat_map(|hash| [hash.get(..SHORT_HEX), Some(hash.as_str())]).flatten();
    if forms.into_iter().any(|form| form == digits) { Ok(()) } else { Err(EnvelopeError::SenderCertificate) }
}
