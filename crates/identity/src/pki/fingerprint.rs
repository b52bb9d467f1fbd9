//! SHA-256 of certificates and keys.

use aws_lc_rs::digest::{SHA256, digest};
use guildhall_domain::identity::CertificateFingerprint;

pub(crate) fn sha256(bytes: &[u8]) -> CertificateFingerprint {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    CertificateFingerprint::new(hash)
}
