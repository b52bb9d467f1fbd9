//! Ed25519 keys that sign checkpoints of audit logs. The private key is in a file, not in the database.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use guildhall_domain::access::audit_checkpoint::{
    AuditKeyId, Checkpoint, CheckpointSignature, CheckpointStatement,
};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 8;

/// A key that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditKeyError {
    #[error("invalid private key: expected 64 hexadecimal digits, as `openssl rand -hex 32` prints them")]
    InvalidPrivateKey,
    #[error(
        "invalid public key: expected 64 hexadecimal digits, as `guildhall audit public-key` prints them"
    )]
    InvalidPublicKey,
}

/// The private key that signs checkpoints.
pub struct AuditSigningKey {
    pair: Ed25519KeyPair,
    public: AuditPublicKey,
}

impl AuditSigningKey {
    /// Parses 64 hexadecimal digits, the seed of the key. Surrounding white space is ignored, because files end with a
    /// line break.
    pub fn from_hex(text: &SecretString) -> Result<Self, AuditKeyError> {
        let mut seed = Zeroizing::new([0; KEY_BYTES]);
        let invalid = AuditKeyError::InvalidPrivateKey;
        hex::decode_to_slice(text.expose_secret().trim(), seed.as_mut()).map_err(|_| invalid)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref()).map_err(|_| invalid)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| invalid)?;
        Ok(Self { pair, public: AuditPublicKey(public) })
    }

    #[must_use]
    pub fn public(&self) -> AuditPublicKey {
        self.public
    }

    #[must_use]
    pub fn sign(&self, statement: CheckpointStatement) -> Checkpoint {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(self.pair.sign(statement.signed_text().as_bytes()).as_ref());
        Checkpoint { statement, key: self.public.id(), signature: CheckpointSignature::from_bytes(bytes) }
    }
}

impl fmt::Debug for AuditSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditSigningKey({}, [redacted])", self.public.id())
    }
}

/// The public key that verifies checkpoints. Text form: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuditPublicKey([u8; KEY_BYTES]);

impl AuditPublicKey {
    #[must_use]
    pub fn id(&self) -> AuditKeyId {
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&digest(&SHA256, &self.0).as_ref()[..ID_BYTES]);
        AuditKeyId::from_bytes(id)
    }

    /// Returns whether this key signed the checkpoint.
    #[must_use]
    pub fn verifies(&self, checkpoint: &Checkpoint) -> bool {
        let text = checkpoint.statement.signed_text();
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        key.verify(text.as_bytes(), checkpoint.signature.as_bytes()).is_ok()
    }
}

impl fmt::Display for AuditPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for AuditPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditPublicKey({self})")
    }
}

impl FromStr for AuditPublicKey {
    type Err = AuditKeyError;

    fn from_str(text: &str) -> Result<Self, AuditKeyError> {
        let mut bytes = [0; KEY_BYTES];
        hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| AuditKeyError::InvalidPublicKey)?;
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::access::audit_chain::ChainTip;
    use guildhall_domain::access::audit_checkpoint::AuditLog;
    use jiff::Timestamp;

    use super::*;

    /// The first test vector of RFC 8032, section 7.1.
    const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    fn key(seed: &str) -> AuditSigningKey {
        AuditSigningKey::from_hex(&SecretString::from(format!("{seed}\n"))).expect("a key")
    }

    fn statement() -> CheckpointStatement {
        CheckpointStatement {
            log: AuditLog::Installation,
            tip: ChainTip::START,
            signed_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn public_key_matches_rfc_8032() {
        assert_eq!(key(SEED).public().to_string(), PUBLIC);
        assert_eq!(PUBLIC.parse::<AuditPublicKey>(), Ok(key(SEED).public()));
    }

    #[test]
    fn signature_is_valid_only_for_its_statement_and_key() {
        let (signer, other) = (key(SEED), key(&"1".repeat(64)));
        let checkpoint = signer.sign(statement());
        assert!(signer.public().verifies(&checkpoint));
        assert!(!other.public().verifies(&checkpoint));
        let later = CheckpointStatement { signed_at: Timestamp::MAX, ..statement() };
        assert!(!signer.public().verifies(&Checkpoint { statement: later, ..checkpoint }));
        assert_ne!(signer.public().id(), other.public().id());
    }

    #[test]
    fn invalid_key_is_rejected_and_not_printed() {
        for text in ["", "00", &"g".repeat(64), &"0".repeat(66)] {
            let parsed = AuditSigningKey::from_hex(&SecretString::from(text)).map(|key| key.public());
            assert_eq!(parsed, Err(AuditKeyError::InvalidPrivateKey), "{text}");
            assert_eq!(text.parse::<AuditPublicKey>(), Err(AuditKeyError::InvalidPublicKey), "{text}");
        }
        assert!(!format!("{:?}", key(SEED)).contains(SEED));
    }
}
