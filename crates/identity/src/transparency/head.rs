//! Signed tree heads: the log promises what it contains.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::{CertificateFingerprint, SignedTreeHead, TreeHead};

use crate::pki::{InvalidPublicKey, InvalidSignature, P256PublicKey, SignError, Signer};

/// `v1` and `tree_hash` of RFC 6962.
const VERSION: u8 = 0;
const SIGNATURE_TYPE: u8 = 1;

/// Signs a head: `TreeHeadSignature` of RFC 6962, section 3.5.
pub fn sign_head(head: TreeHead, key: &dyn Signer) -> Result<SignedTreeHead, SignError> {
    Ok(SignedTreeHead { head, signature: key.sign(&signed_bytes(&head))? })
}

fn signed_bytes(head: &TreeHead) -> Vec<u8> {
    let mut bytes = vec![VERSION, SIGNATURE_TYPE];
    bytes.extend(head.at.as_millisecond().to_be_bytes());
    bytes.extend(head.size.to_be_bytes());
    bytes.extend(head.root.as_bytes());
    bytes
}

/// The public key of a log. Its hash names the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogKey(P256PublicKey);

impl LogKey {
    /// Returns the public key of a private one.
    pub fn of(key: &dyn Signer) -> Result<Self, InvalidPublicKey> {
        P256PublicKey::of(key).map(Self)
    }

    /// Parses SubjectPublicKeyInfo in base64.
    pub fn from_base64(text: &str) -> Result<Self, InvalidPublicKey> {
        P256PublicKey::from_base64(text).map(Self)
    }

    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0.spki())
    }

    /// Returns the SHA-256 of the key.
    #[must_use]
    pub fn log_id(&self) -> CertificateFingerprint {
        self.0.fingerprint()
    }

    /// Verifies the signature of a head.
    pub fn verify(&self, signed: &SignedTreeHead) -> Result<(), InvalidSignature> {
        self.0.verify(&signed_bytes(&signed.head), &signed.signature)
    }
}
