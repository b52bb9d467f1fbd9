//! Ed25519 signing keys for access tokens, published as a JWK set.

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use guildhall_domain::ids::SigningKeyId;
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::{Value, json};

use crate::seal::{self, Kek, SealError};

const PUBLIC_BYTES: usize = 32;

/// A signing key could not be generated or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("cannot generate a signing key")]
    Generate,
    #[error("cannot read signing key {0}: it is not an Ed25519 key in PKCS#8")]
    Unreadable(SigningKeyId),
    #[error("cannot decrypt signing key {id}")]
    Sealed {
        id: SigningKeyId,
        #[source]
        source: SealError,
    },
}

/// The private half of a signing key.
pub struct PrivateKey {
    public: PublicKey,
    pkcs8: SecretSlice<u8>,
}

/// The public half of a signing key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    pub id: SigningKeyId,
    pub bytes: [u8; PUBLIC_BYTES],
}

impl PrivateKey {
    /// Generates a new key.
    pub fn generate(id: SigningKeyId) -> Result<Self, KeyError> {
        let document = Ed25519KeyPair::generate().and_then(|pair| pair.to_pkcs8());
        let document = document.map_err(|_| KeyError::Generate)?;
        Self::from_pkcs8(id, SecretSlice::from(document.as_ref().to_vec()))
    }

    /// Parses a key and checks that its halves belong together.
    pub fn from_pkcs8(id: SigningKeyId, pkcs8: SecretSlice<u8>) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.expose_secret()).map_err(|_| KeyError::Unreadable(id))?;
        let bytes = pair.public_key().as_ref().try_into().map_err(|_| KeyError::Unreadable(id))?;
        Ok(Self { public: PublicKey { id, bytes }, pkcs8 })
    }

    /// Decrypts a stored key. It can be opened only under its own id.
    pub fn open(id: SigningKeyId, kek: &Kek, sealed: &[u8]) -> Result<Self, KeyError> {
        let opened = seal::open(kek, id.to_string().as_bytes(), sealed);
        Self::from_pkcs8(id, opened.map_err(|source| KeyError::Sealed { id, source })?)
    }

    /// Encrypts the key for storage, bound to its id.
    pub fn seal(&self, kek: &Kek) -> Result<Vec<u8>, SealError> {
        seal::seal(kek, self.id().to_string().as_bytes(), self.pkcs8.expose_secret())
    }

    #[must_use]
    pub fn id(&self) -> SigningKeyId {
        self.public.id
    }

    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn pkcs8(&self) -> &[u8] {
        self.pkcs8.expose_secret()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({}, [redacted])", self.id())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({}, {})", self.id, hex::encode(self.bytes))
    }
}

/// Returns keys as a JWK set (RFC 7517, RFC 8037).
#[must_use]
pub fn jwks(keys: &[PublicKey]) -> Value {
    let keys: Vec<Value> = keys
        .iter()
        .map(|key| {
            json!({
                "kty": "OKP",
                "crv": "Ed25519",
                "use": "sig",
                "alg": "EdDSA",
                "kid": key.id,
                "x": URL_SAFE_NO_PAD.encode(key.bytes),
            })
        })
        .collect();
    json!({ "keys": keys })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(number: u128) -> SigningKeyId {
        SigningKeyId::from_uuid(Uuid::from_u128(number))
    }

    #[test]
    fn sealed_key_opens_only_under_its_own_id() {
        let (kek, key) = (Kek::generate(), PrivateKey::generate(id(1)).expect("generated"));
        let sealed = key.seal(&kek).expect("sealed");
        assert!(!sealed.windows(32).any(|part| key.pkcs8().windows(32).any(|secret| secret == part)));
        assert_eq!(PrivateKey::open(id(1), &kek, &sealed).map(|key| key.public()), Ok(key.public()));
        let moved = PrivateKey::open(id(2), &kek, &sealed).map(|key| key.public());
        assert_eq!(moved, Err(KeyError::Sealed { id: id(2), source: SealError::Open }));
    }

    #[test]
    fn invalid_key_is_rejected_and_debug_is_redacted() {
        let parsed = PrivateKey::from_pkcs8(id(1), SecretSlice::from(vec![0; 48]));
        assert_eq!(parsed.map(|key| key.public()), Err(KeyError::Unreadable(id(1))));
        let key = PrivateKey::generate(id(1)).expect("generated");
        assert_eq!(format!("{key:?}"), "PrivateKey(sgk_00000000000000000000000000000001, [redacted])");
    }

    /// The example of RFC 8037, appendix A.2.
    #[test]
    fn jwks_matches_the_rfc_8037_example() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let bytes = URL_SAFE_NO_PAD.decode(x).expect("base64").try_into().expect("32 bytes");
        let expected = json!({ "keys": [{
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
            "kid": "sgk_00000000000000000000000000000001", "x": x,
        }] });
        assert_eq!(jwks(&[PublicKey { id: id(1), bytes }]), expected);
        assert_eq!(jwks(&[]), json!({ "keys": [] }));
    }
}
