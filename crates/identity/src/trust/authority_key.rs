//! The key that signs lists of roots.

use aws_lc_rs::signature::{ECDSA_P384_SHA384_ASN1, ParsedPublicKey};
use guildhall_domain::identity::CertificateFingerprint;
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};
use x509_cert::spki::ObjectIdentifier;

use crate::pki::{InvalidSignature, pem_to_der, sha256};

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const SECP384R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");

/// The text is not the certificate of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid certificate of an authority: expected one X.509 certificate with a P-384 key in PEM")]
pub struct InvalidAuthority;

/// The P-384 public key of an authority that a client has pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityKey {
    point: Vec<u8>,
    fingerprint: CertificateFingerprint,
}

impl AuthorityKey {
    /// Reads the key of a certificate. Who gives the certificate is trusted: nothing else of it is checked.
    pub fn from_certificate_pem(pem: &str) -> Result<Self, InvalidAuthority> {
        let der = pem_to_der(pem).map_err(|_| InvalidAuthority)?;
        let certificate = Certificate::from_der(&der).map_err(|_| InvalidAuthority)?;
        let info = &certificate.tbs_certificate.subject_public_key_info;
        let curve: Option<ObjectIdentifier> =
            info.algorithm.parameters.as_ref().and_then(|curve| curve.decode_as().ok());
        if info.algorithm.oid != EC_PUBLIC_KEY || curve != Some(SECP384R1) {
            return Err(InvalidAuthority);
        }
        let point = info.subject_public_key.as_bytes().ok_or(InvalidAuthority)?.to_vec();
        ParsedPublicKey::new(&ECDSA_P384_SHA384_ASN1, &point).map_err(|_| InvalidAuthority)?;
        let fingerprint = sha256(&info.to_der().map_err(|_| InvalidAuthority)?);
        Ok(Self { point, fingerprint })
    }

    /// Returns the SHA-256 of the key as SubjectPublicKeyInfo.
    #[must_use]
    pub const fn fingerprint(&self) -> CertificateFingerprint {
        self.fingerprint
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = ParsedPublicKey::new(&ECDSA_P384_SHA384_ASN1, &self.point).map_err(|_| InvalidSignature)?;
        key.verify_sig(message, signature).map_err(|_| InvalidSignature)
    }

    /// Returns whether this is the public key of a private one.
    #[must_use]
    pub fn is_of(&self, key: &dyn crate::pki::Signer) -> bool {
        self.point == key.public_point()
    }
}
