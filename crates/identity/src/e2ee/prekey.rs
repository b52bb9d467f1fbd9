//! Keys that devices publish, signed by the identity key of their AID.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::bounds::MAX_TEXT_BYTES;
use super::fingerprint::{certificate_fingerprint, key_fingerprint};
use super::raw_signature::sign_raw;
use crate::pki::{P256PublicKey, ParsedCertificate, SignError, Signer};

/// A published key was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrekeyError {
    #[error("the id of the key is not valid")]
    Id,
    #[error("the key is not a P-256 key in base64")]
    Key,
    #[error("the key was signed for another certificate")]
    OtherCertificate,
    #[error("the signature of the key is invalid")]
    Signature,
}

/// A prekey of v1, with the members of `message.e2ee.put_prekey`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPrekey {
    pub prekey_id: String,
    /// SubjectPublicKeyInfo in base64.
    pub public_key: String,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// ECDSA in DER, in base64.
    pub signature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_fingerprint: Option<String>,
    /// Empty for the only device of an AID.
    #[serde(default)]
    pub device_id: String,
}

/// The key of a device in V2, with the members of `message.v2.put_peer_pk`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedSpk {
    pub spk_id: String,
    /// SubjectPublicKeyInfo in base64.
    pub spk_pk: String,
    /// r and s, in base64.
    pub spk_signature: String,
    /// Seconds since 1970.
    pub spk_timestamp: i64,
}

impl SignedPrekey {
    /// Signs a prekey of a device with the identity key.
    pub fn sign(
        prekey_id: &str,
        key: &P256PublicKey,
        created_at_ms: i64,
        identity: &dyn Signer,
    ) -> Result<Self, SignError> {
        let public_key = STANDARD.encode(key.spki());
        let text = Self::signed_text(prekey_id, &public_key, Some(created_at_ms));
        Ok(Self {
            prekey_id: prekey_id.to_owned(),
            public_key,
            created_at: Some(created_at_ms),
            signature: STANDARD.encode(identity.sign(text.as_bytes())?),
            cert_fingerprint: None,
            device_id: String::new(),
        })
    }

    /// Returns what the identity key signs.
    #[must_use]
    pub fn signed_text(prekey_id: &str, public_key: &str, created_at: Option<i64>) -> String {
        match created_at {
            Some(created_at) => format!("{prekey_id}|{public_key}|{created_at}"),
            None => format!("{prekey_id}|{public_key}"),
        }
    }

    /// Verifies that the owner of a certificate published the key, and returns it.
    pub fn verify(&self, certificate: &ParsedCertificate) -> Result<P256PublicKey, PrekeyError> {
        check_id(&self.prekey_id)?;
        let named = self.cert_fingerprint.as_deref().filter(|fingerprint| !fingerprint.is_empty());
        if named.is_some_and(|named| named != certificate_fingerprint(&certificate.fingerprint)) {
            return Err(PrekeyError::OtherCertificate);
        }
        let key = P256PublicKey::from_base64(&self.public_key).map_err(|_| PrekeyError::Key)?;
        let text = Self::signed_text(&self.prekey_id, &self.public_key, self.created_at);
        let verified = certificate.public_key.verify_base64(text.as_bytes(), &self.signature);
        verified.map(|()| key).map_err(|_| PrekeyError::Signature)
    }
}

impl SignedSpk {
    /// Signs the key of a device with the identity key.
    pub fn sign(key: &P256PublicKey, timestamp: i64, identity: &dyn Signer) -> Result<Self, SignError> {
        let spk_id = key_fingerprint(key);
        let signature = sign_raw(identity, &Self::signed_bytes(key, &spk_id, timestamp))?;
        Ok(Self {
            spk_id,
            spk_pk: STANDARD.encode(key.spki()),
            spk_signature: STANDARD.encode(signature),
            spk_timestamp: timestamp,
        })
    }

    /// Returns what the identity key signs.
    #[must_use]
    pub fn signed_bytes(key: &P256PublicKey, spk_id: &str, timestamp: i64) -> Vec<u8> {
        [key.spki(), spk_id.as_bytes(), timestamp.to_string().as_bytes()].concat()
    }

    /// Verifies that the owner of an identity key published the key, and returns it.
    pub fn verify(&self, identity: &P256PublicKey) -> Result<P256PublicKey, PrekeyError> {
        let key = P256PublicKey::from_base64(&self.spk_pk).map_err(|_| PrekeyError::Key)?;
        if self.spk_id != key_fingerprint(&key) {
            return Err(PrekeyError::Id);
        }
        let signature = STANDARD.decode(&self.spk_signature).map_err(|_| PrekeyError::Signature)?;
        let message = Self::signed_bytes(&key, &self.spk_id, self.spk_timestamp);
        identity.verify_raw(&message, &signature).map(|()| key).map_err(|_| PrekeyError::Signature)
    }
}

/// The separator of the signed text must not be in the id: two texts would have one signature.
fn check_id(id: &str) -> Result<(), PrekeyError> {
    let is_valid =
        !id.is_empty() && id.len() <= MAX_TEXT_BYTES && !id.contains(|c: char| c == '|' || c.is_control());
    if is_valid { Ok(()) } else { Err(PrekeyError::Id) }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::identity::Serial;
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::pki::{Curve, EcKey};

    fn certificate(key: &EcKey) -> ParsedCertificate {
        let public_key = P256PublicKey::of(key).expect("a public key");
        ParsedCertificate {
            common_name: "alice.guild.test".to_owned(),
            serial: Serial::from_bytes(&[7]).expect("a number"),
            fingerprint: public_key.fingerprint(),
            public_key,
            not_after: Timestamp::UNIX_EPOCH,
        }
    }

    fn prekey(owner: &EcKey, created_at: Option<i64>) -> SignedPrekey {
        let prekey = EcKey::generate(Curve::P256).expect("generated");
        let public_key = STANDARD.encode(P256PublicKey::of(&prekey).expect("a public key").spki());
        let text = SignedPrekey::signed_text("prekey-1", &public_key, created_at);
        let signature = STANDARD.encode(owner.sign(text.as_bytes()).expect("signed"));
        SignedPrekey {
            prekey_id: "prekey-1".to_owned(),
            public_key,
            created_at,
            signature,
            cert_fingerprint: None,
            device_id: String::new(),
        }
    }

    #[test]
    fn prekey_is_accepted_from_its_owner_alone() {
        let [alice, mallory] = [0, 1].map(|_| EcKey::generate(Curve::P256).expect("generated"));
        for created_at in [None, Some(1_700_000_000_000)] {
            let prekey = prekey(&alice, created_at);
            assert!(prekey.verify(&certificate(&alice)).is_ok());
            assert_eq!(prekey.verify(&certificate(&mallory)), Err(PrekeyError::Signature));
            let older = SignedPrekey { created_at: Some(1), ..prekey.clone() };
            assert_eq!(older.verify(&certificate(&alice)), Err(PrekeyError::Signature));
            let renamed = SignedPrekey { prekey_id: "prekey-1|x".to_owned(), ..prekey.clone() };
            assert_eq!(renamed.verify(&certificate(&alice)), Err(PrekeyError::Id));
            let stale = Some(format!("sha256:{}", "0".repeat(64)));
            let stale = SignedPrekey { cert_fingerprint: stale, ..prekey };
            assert_eq!(stale.verify(&certificate(&alice)), Err(PrekeyError::OtherCertificate));
        }
    }

    #[test]
    fn keys_that_are_signed_here_are_accepted_from_their_owner_alone() {
        let [alice, mallory, device] = [0; 3].map(|_| EcKey::generate(Curve::P256).expect("generated"));
        let key = P256PublicKey::of(&device).expect("a public key");
        let spk = SignedSpk::sign(&key, 1_700_000_000, &alice).expect("signed");
        assert_eq!(spk.verify(&certificate(&alice).public_key), Ok(key.clone()));
        assert_eq!(spk.verify(&certificate(&mallory).public_key), Err(PrekeyError::Signature));
        let older = SignedSpk { spk_timestamp: 1, ..spk };
        assert_eq!(older.verify(&certificate(&alice).public_key), Err(PrekeyError::Signature));
        let prekey = SignedPrekey::sign("prekey-1", &key, 1_700_000_000_000, &alice).expect("signed");
        assert_eq!(prekey.verify(&certificate(&alice)), Ok(key));
        assert_eq!(prekey.verify(&certificate(&mallory)), Err(PrekeyError::Signature));
    }

    proptest! {
        #[test]
        fn spk_with_any_texts_is_refused_without_panic(id in any::<String>(), key in any::<String>(), signature in any::<String>(), at in any::<i64>()) {
            let spk = SignedSpk { spk_id: id, spk_pk: key, spk_signature: signature, spk_timestamp: at };
            let key = EcKey::generate(Curve::P256).expect("generated");
            prop_assert!(spk.verify(&P256PublicKey::of(&key).expect("a public key")).is_err());
        }
    }
}
