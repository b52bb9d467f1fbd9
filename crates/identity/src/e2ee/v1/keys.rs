//! The key of a message of v1.

use super::super::agreement::SharedSecret;
use super::super::cipher::{CipherError, CipherKey, derive_key};
use super::aad::V1Mode;

const INFO_LONG_TERM: &str = "aun-longterm-v2";
const INFO_PREKEY: &str = "aun-prekey-v2:";

/// What the sender and the recipient agree on.
pub(super) struct V1Secrets {
    /// The key of the message, and the identity key of the recipient.
    pub(super) ephemeral_identity: SharedSecret,
    /// Both identity keys.
    pub(super) identities: SharedSecret,
    /// The prekey with the key of the message, and with the identity key of the sender.
    pub(super) prekey: Option<[SharedSecret; 2]>,
}

impl V1Secrets {
    pub(super) fn key(&self, mode: &V1Mode) -> Result<CipherKey, CipherError> {
        let [ephemeral, identities] = [self.ephemeral_identity.as_ref(), self.identities.as_ref()];
        match (mode, &self.prekey) {
            (V1Mode::LongTermKey, None) => {
                derive_key(&[ephemeral, identities], &[], INFO_LONG_TERM.as_bytes())
            }
            (V1Mode::PrekeyEcdhV2 { prekey_id }, Some([with_ephemeral, with_identity])) => {
                let secrets = [with_ephemeral.as_ref(), ephemeral, with_identity.as_ref(), identities];
                derive_key(&secrets, &[], format!("{INFO_PREKEY}{prekey_id}").as_bytes())
            }
            (V1Mode::LongTermKey, Some(_)) | (V1Mode::PrekeyEcdhV2 { .. }, None) => Err(CipherError),
        }
    }
}
