//! A private key that can sign and cannot be read.

use std::fmt;

use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, SignatureAlgorithm};

/// The curve of a key. Its signatures are ECDSA in DER, with SHA-256 for P-256 and SHA-384 for P-384.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    P256,
    P384,
}

impl Curve {
    pub(super) fn algorithm(self) -> &'static SignatureAlgorithm {
        match self {
            Self::P256 => &PKCS_ECDSA_P256_SHA256,
            Self::P384 => &PKCS_ECDSA_P384_SHA384,
        }
    }
}

/// The key could not sign, for example because its key management service did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot sign: the key did not produce a signature")]
pub struct SignError;

/// A private key, wherever it is: in memory after its file was opened, or in a key management service.
///
/// Signing in memory takes less than a tenth of a millisecond. One that waits for a network would need a thread of its own.
pub trait Signer: fmt::Debug + Send + Sync {
    fn curve(&self) -> Curve;

    /// Returns the public key as an uncompressed point.
    fn public_point(&self) -> &[u8];

    /// Signs a message.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError>;
}

/// Lets `rcgen` sign with a key that it does not know.
pub(super) struct CertificateSigner<'a>(pub(super) &'a dyn Signer);

impl rcgen::PublicKeyData for CertificateSigner<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.0.public_point()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.0.curve().algorithm()
    }
}

impl rcgen::SigningKey for CertificateSigner<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        self.0.sign(message).map_err(|_| rcgen::Error::RemoteKeyError)
    }
}
