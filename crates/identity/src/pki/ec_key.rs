//! Keys that are kept in memory after their sealed file was opened.

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    KeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::signer::{Curve, SignError, Signer};
use crate::seal::{self, Kek, SealError};

/// A key could not be generated or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EcKeyError {
    #[error("cannot generate a key")]
    Generate,
    #[error("cannot read the key: it is not an ECDSA key of the expected curve in PKCS#8")]
    Unreadable,
    #[error("cannot decrypt the key")]
    Sealed(#[source] SealError),
}

/// An ECDSA key in memory.
pub struct EcKey {
    curve: Curve,
    pair: EcdsaKeyPair,
    pkcs8: SecretSlice<u8>,
}

fn algorithm(curve: Curve) -> &'static EcdsaSigningAlgorithm {
    match curve {
        Curve::P256 => &ECDSA_P256_SHA256_ASN1_SIGNING,
        Curve::P384 => &ECDSA_P384_SHA384_ASN1_SIGNING,
    }
}

impl EcKey {
    /// Generates a new key.
    pub fn generate(curve: Curve) -> Result<Self, EcKeyError> {
        let document = EcdsaKeyPair::generate_pkcs8(algorithm(curve), &SystemRandom::new());
        let document = document.map_err(|_| EcKeyError::Generate)?;
        Self::from_pkcs8(curve, SecretSlice::from(document.as_ref().to_vec()))
    }

    pub fn from_pkcs8(curve: Curve, pkcs8: SecretSlice<u8>) -> Result<Self, EcKeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(algorithm(curve), pkcs8.expose_secret());
        Ok(Self { curve, pair: pair.map_err(|_| EcKeyError::Unreadable)?, pkcs8 })
    }

    /// Decrypts a stored key. It can be opened only under the name that it was sealed with.
    pub fn open(curve: Curve, kek: &Kek, name: &str, sealed: &[u8]) -> Result<Self, EcKeyError> {
        Self::from_pkcs8(curve, seal::open(kek, name.as_bytes(), sealed).map_err(EcKeyError::Sealed)?)
    }

    /// Returns the key as PKCS#8 in PEM, for a file of its owner.
    #[must_use]
    pub fn to_pem(&self) -> SecretString {
        let text = Zeroizing::new(STANDARD.encode(self.pkcs8.expose_secret()));
        let lines = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok());
        let body = Zeroizing::new(lines.collect::<Vec<_>>().join("\n"));
        SecretString::from(format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            body.as_str()
        ))
    }

    /// Reads a key as PKCS#8 in PEM.
    pub fn from_pem(curve: Curve, pem: &SecretString) -> Result<Self, EcKeyError> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.expose_secret().as_bytes());
        let key = key.map_err(|_| EcKeyError::Unreadable)?;
        Self::from_pkcs8(curve, SecretSlice::from(key.secret_pkcs8_der().to_vec()))
    }

    /// Returns the key as PKCS#8 in DER.
    #[must_use]
    pub fn pkcs8(&self) -> &SecretSlice<u8> {
        &self.pkcs8
    }

    /// Encrypts the key for storage, bound to a name.
    pub fn seal(&self, kek: &Kek, name: &str) -> Result<Vec<u8>, SealError> {
        seal::seal(kek, name.as_bytes(), self.pkcs8.expose_secret())
    }
}

impl Signer for EcKey {
    fn curve(&self) -> Curve {
        self.curve
    }

    fn public_point(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let signature = self.pair.sign(&SystemRandom::new(), message).map_err(|_| SignError)?;
        Ok(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for EcKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EcKey({:?}, [redacted])", self.curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_key_opens_only_under_its_own_name_and_curve() {
        let (kek, key) = (Kek::generate(), EcKey::generate(Curve::P256).expect("generated"));
        let sealed = key.seal(&kek, "issuer").expect("sealed");
        let point = |curve, name: &str| {
            EcKey::open(curve, &kek, name, &sealed).map(|opened| opened.public_point().to_vec())
        };
        assert_eq!(point(Curve::P256, "issuer"), Ok(key.public_point().to_vec()));
        assert_eq!(point(Curve::P256, "auth"), Err(EcKeyError::Sealed(SealError::Open)));
        assert_eq!(point(Curve::P384, "issuer"), Err(EcKeyError::Unreadable));
        assert_eq!(format!("{key:?}"), "EcKey(P256, [redacted])");
    }
}
