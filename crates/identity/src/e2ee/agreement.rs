//! Private keys that agree on secrets with the keys of others (ECDH on P-256).

use std::fmt;

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice};

use crate::pki::{EcKey, P256PublicKey, Signer};

/// The length of a private key, and of what two keys agree on.
pub const SCALAR_BYTES: usize = 32;

/// What two keys agree on: the x coordinate of a point. Zeroed when it is dropped.
pub type SharedSecret = Zeroizing<[u8; SCALAR_BYTES]>;

/// The keys could not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot use the private key: it is not a P-256 key, or did not answer")]
pub struct AgreementError;

/// The key of an AID, as its devices use it: it signs, and agrees on secrets.
pub trait IdentityKey: Signer {
    /// Returns what this key and another one agree on.
    fn agree(&self, other: &P256PublicKey) -> Result<SharedSecret, AgreementError>;
}

impl IdentityKey for EcKey {
    fn agree(&self, other: &P256PublicKey) -> Result<SharedSecret, AgreementError> {
        let key = PrivateKey::from_private_key_der(&ECDH_P256, self.pkcs8().expose_secret());
        shared_secret(&key.map_err(|_| AgreementError)?, other)
    }
}

/// A private key that signs nothing: the key of a device, or of one message.
pub struct AgreementKey {
    key: PrivateKey,
    public: P256PublicKey,
}

impl AgreementKey {
    /// Generates a new key.
    pub fn generate() -> Result<Self, AgreementError> {
        Self::new(PrivateKey::generate(&ECDH_P256).map_err(|_| AgreementError)?)
    }

    /// Reads a key as [`AgreementKey::to_scalar`] returns it.
    pub fn from_scalar(scalar: &SecretSlice<u8>) -> Result<Self, AgreementError> {
        let key = PrivateKey::from_private_key(&ECDH_P256, scalar.expose_secret());
        Self::new(key.map_err(|_| AgreementError)?)
    }

    fn new(key: PrivateKey) -> Result<Self, AgreementError> {
        let point = key.compute_public_key().map_err(|_| AgreementError)?;
        let public = P256PublicKey::from_point(point.as_ref()).map_err(|_| AgreementError)?;
        Ok(Self { key, public })
    }

    /// Returns the private key as a number of 32 bytes.
    pub fn to_scalar(&self) -> Result<SecretSlice<u8>, AgreementError> {
        let scalar: EcPrivateKeyBin<'_> = self.key.as_be_bytes().map_err(|_| AgreementError)?;
        Ok(SecretSlice::from(scalar.as_ref().to_vec()))
    }

    #[must_use]
    pub fn public_key(&self) -> &P256PublicKey {
        &self.public
    }

    /// Returns what this key and another one agree on.
    pub fn agree(&self, other: &P256PublicKey) -> Result<SharedSecret, AgreementError> {
        shared_secret(&self.key, other)
    }
}

impl fmt::Debug for AgreementKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgreementKey([redacted])")
    }
}

fn shared_secret(key: &PrivateKey, other: &P256PublicKey) -> Result<SharedSecret, AgreementError> {
    let other = UnparsedPublicKey::new(&ECDH_P256, other.point());
    agree(key, other, AgreementError, |secret| {
        secret.try_into().map(Zeroizing::new).map_err(|_| AgreementError)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::Curve;

    #[test]
    fn two_keys_agree_and_a_third_one_does_not() {
        let identity = EcKey::generate(Curve::P256).expect("generated");
        let [device, other] = [0, 1].map(|_| AgreementKey::generate().expect("generated"));
        let identity_public = P256PublicKey::of(&identity).expect("a public key");
        let agreed = device.agree(&identity_public).expect("agreed");
        assert_eq!(identity.agree(device.public_key()).expect("agreed"), agreed);
        assert_ne!(identity.agree(other.public_key()).expect("agreed"), agreed);
    }

    #[test]
    fn stored_key_is_the_same_key_and_is_not_printed() {
        let key = AgreementKey::generate().expect("generated");
        let stored = key.to_scalar().expect("a number");
        let read = AgreementKey::from_scalar(&stored).expect("a key");
        assert_eq!((read.public_key(), stored.expose_secret().len()), (key.public_key(), SCALAR_BYTES));
        assert_eq!(format!("{key:?}"), "AgreementKey([redacted])");
        for invalid in [vec![], vec![0; 32], vec![0xff; 32], vec![1; 31]] {
            assert!(AgreementKey::from_scalar(&SecretSlice::from(invalid)).is_err());
        }
    }

    #[test]
    fn key_of_another_curve_does_not_agree() {
        let key = EcKey::generate(Curve::P384).expect("generated");
        let device = AgreementKey::generate().expect("generated");
        assert_eq!(key.agree(device.public_key()), Err(AgreementError));
    }
}
