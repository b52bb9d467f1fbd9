//! The keys that encrypt the key of a message, one for each row.

use aws_lc_rs::digest::{SHA256, digest};

use super::super::SUITE;
use super::super::agreement::SharedSecret;
use super::super::cipher::{CipherError, CipherKey, derive_key};
use crate::pki::P256PublicKey;

const INFO_1DH: &[u8] = b"AUN-V2-1DH";
const INFO_3DH: &[u8] = b"AUN-V2-3DH";

const SALT_BYTES: usize = 16;

/// What binds the keys of the rows to one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrapSalt([u8; SALT_BYTES]);

/// What the sender and the recipient of a row agree on, in the order of the format.
pub(super) enum WrapSecrets {
    /// The key of the message, and the identity key of the recipient.
    OneDh(SharedSecret),
    /// The same; the identity key of the sender, and the SPK; the key of the message, and the SPK.
    ThreeDh([SharedSecret; 3]),
}

impl WrapSalt {
    pub(super) fn new(aad: &[u8], session_key: &P256PublicKey) -> Self {
        let hash = digest(&SHA256, &[aad, session_key.spki(), SUITE.as_bytes()].concat());
        let mut salt = [0; SALT_BYTES];
        salt.iter_mut().zip(hash.as_ref()).for_each(|(to, from)| *to = *from);
        Self(salt)
    }
}

impl WrapSecrets {
    pub(super) fn key(&self, salt: WrapSalt) -> Result<CipherKey, CipherError> {
        match self {
            Self::OneDh(secret) => derive_key(&[secret.as_ref()], &salt.0, INFO_1DH),
            Self::ThreeDh([first, second, third]) => {
                derive_key(&[first.as_ref(), second.as_ref(), third.as_ref()], &salt.0, INFO_3DH)
            }
        }
    }
}
