//! Signatures of clients with their P-256 keys.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ParsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::CertificateFingerprint;
use rcgen::PublicKeyData;
use x509_cert::der::asn1::BitStringRef;
use x509_cert::der::{Decode, Encode};
use x509_cert::spki::{AlgorithmIdentifierRef, ObjectIdentifier, SubjectPublicKeyInfoRef};

use super::fingerprint::sha256;
use super::signer::{CertificateSigner, Signer};

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const PRIME256V1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");

/// The length of an uncompressed point, and its first byte.
const POINT_BYTES: usize = 65;
const UNCOMPRESSED: u8 = 4;

/// The bytes are not the public key of a P-256 key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid public key: expected a P-256 key as SubjectPublicKeyInfo in DER")]
pub struct InvalidPublicKey;

/// The signature is not one of this key over this message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid signature")]
pub struct InvalidSignature;

/// A P-256 public key whose point is on the curve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct P256PublicKey {
    spki: Vec<u8>,
    point: Vec<u8>,
}

impl P256PublicKey {
    /// Parses a SubjectPublicKeyInfo in DER.
    pub fn from_spki(spki: &[u8]) -> Result<Self, InvalidPublicKey> {
        let info = SubjectPublicKeyInfoRef::from_der(spki).map_err(|_| InvalidPublicKey)?;
        let curve = info.algorithm.parameters_oid().map_err(|_| InvalidPublicKey)?;
        if info.algorithm.oid != EC_PUBLIC_KEY || curve != PRIME256V1 {
            return Err(InvalidPublicKey);
        }
        let point = info.subject_public_key.as_bytes().ok_or(InvalidPublicKey)?;
        // The parser below takes other forms too. One form for each key: a key that is revoked has one fingerprint.
        if point.len() != POINT_BYTES || point[0] != UNCOMPRESSED {
            return Err(InvalidPublicKey);
        }
        ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).map_err(|_| InvalidPublicKey)?;
        Ok(Self { spki: info.to_der().map_err(|_| InvalidPublicKey)?, point: point.to_vec() })
    }

    /// Parses an uncompressed point.
    pub fn from_point(point: &[u8]) -> Result<Self, InvalidPublicKey> {
        let algorithm = AlgorithmIdentifierRef { oid: EC_PUBLIC_KEY, parameters: Some((&PRIME256V1).into()) };
        let subject_public_key = BitStringRef::from_bytes(point).map_err(|_| InvalidPublicKey)?;
        let info = SubjectPublicKeyInfoRef { algorithm, subject_public_key };
        Self::from_spki(&info.to_der().map_err(|_| InvalidPublicKey)?)
    }

    /// Returns the public key of a private one.
    pub fn of(key: &dyn Signer) -> Result<Self, InvalidPublicKey> {
        Self::from_spki(&CertificateSigner(key).subject_public_key_info())
    }

    /// Parses the base64 form that clients send.
    pub fn from_base64(text: &str) -> Result<Self, InvalidPublicKey> {
        Self::from_spki(&STANDARD.decode(text).map_err(|_| InvalidPublicKey)?)
    }

    #[must_use]
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// Returns the uncompressed point.
    #[must_use]
    pub fn point(&self) -> &[u8] {
        &self.point
    }

    #[must_use]
    pub fn fingerprint(&self) -> CertificateFingerprint {
        sha256(&self.spki)
    }

    /// Verifies an ECDSA signature in DER with SHA-256.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).map_err(|_| InvalidSignature)?;
        key.verify_sig(message, signature).map_err(|_| InvalidSignature)
    }

    /// Verifies an ECDSA signature of two 32-byte numbers with SHA-256.
    pub fn verify_raw(&self, message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key =
            ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.point).map_err(|_| InvalidSignature)?;
        key.verify_sig(message, signature).map_err(|_| InvalidSignature)
    }

    /// Verifies a signature in base64, as clients send it.
    pub fn verify_base64(&self, message: &[u8], signature: &str) -> Result<(), InvalidSignature> {
        self.verify(message, &STANDARD.decode(signature).map_err(|_| InvalidSignature)?)
    }
}

impl PublicKeyData for P256PublicKey {
    fn der_bytes(&self) -> &[u8] {
        &self.point
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ec_key::EcKey;
    use super::super::signer::Curve;
    use super::*;

    fn public(key: &EcKey) -> Vec<u8> {
        CertificateSigner(key).subject_public_key_info()
    }

    #[test]
    fn signature_belongs_to_one_key_and_one_message() {
        let key = EcKey::generate(Curve::P256).expect("generated");
        let other = EcKey::generate(Curve::P256).expect("generated");
        let public = P256PublicKey::from_spki(&public(&key)).expect("a public key");
        let signature = key.sign(b"nonce:1").expect("signed");
        assert_eq!(public.verify_base64(b"nonce:1", &STANDARD.encode(&signature)), Ok(()));
        assert_eq!(public.verify(b"nonce:2", &signature), Err(InvalidSignature));
        assert_eq!(
            public.verify(b"nonce:1", &other.sign(b"nonce:1").expect("signed")),
            Err(InvalidSignature)
        );
        assert_eq!(public.verify_base64(b"nonce:1", "not base64"), Err(InvalidSignature));
    }

    #[test]
    fn other_curves_and_points_off_the_curve_are_rejected() {
        let p384 = public(&EcKey::generate(Curve::P384).expect("generated"));
        assert_eq!(P256PublicKey::from_spki(&p384), Err(InvalidPublicKey));
        let mut off = public(&EcKey::generate(Curve::P256).expect("generated"));
        let last = off.len() - 1;
        off[last] ^= 1;
        assert_eq!(P256PublicKey::from_spki(&off), Err(InvalidPublicKey));
        assert_eq!(P256PublicKey::from_base64(""), Err(InvalidPublicKey));
    }

    #[test]
    fn compressed_points_and_keys_in_keys_are_rejected() {
        let spki = public(&EcKey::generate(Curve::P256).expect("generated"));
        let info = SubjectPublicKeyInfoRef::from_der(&spki).expect("a key");
        let point = info.subject_public_key.as_bytes().expect("a point");
        let compressed = [&[2 + (point[64] & 1)], &point[1..33]].concat();
        for bytes in [compressed.as_slice(), &spki] {
            let subject_public_key = BitStringRef::from_bytes(bytes).expect("bits");
            let other = SubjectPublicKeyInfoRef { algorithm: info.algorithm, subject_public_key };
            let other = other.to_der().expect("encoded");
            assert_eq!(P256PublicKey::from_spki(&other), Err(InvalidPublicKey));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_rejected_without_panic(bytes in any::<Vec<u8>>()) {
            prop_assert_eq!(P256PublicKey::from_spki(&bytes), Err(InvalidPublicKey));
        }
    }
}
