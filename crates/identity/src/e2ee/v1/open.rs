//! How a device opens a message.

use super::super::agreement::{AgreementKey, IdentityKey};
use super::super::cipher::decrypt;
use super::super::open_error::OpenError;
use super::super::payload::payload_text;
use super::envelope::V1Envelope;
use super::keys::V1Secrets;
use crate::pki::ParsedCertificate;

/// A device that opens messages.
#[derive(Debug, Clone, Copy)]
pub struct V1Reader<'a> {
    pub identity: &'a dyn IdentityKey,
    /// The private key of the prekey that the envelope names, if the device has it.
    pub prekey: Option<&'a AgreementKey>,
}

impl V1Envelope {
    /// Verifies that the owner of a certificate sealed the message for this AID, and returns the payload as JSON.
    ///
    /// The caller has checked that the certificate is one of the sender, and that the names are those of the message.
    pub fn open(&self, reader: &V1Reader<'_>, sender: &ParsedCertificate) -> Result<String, OpenError> {
        self.verify_sender(sender)?;
        let (ephemeral, identity) = (&self.aad.ephemeral_key, &sender.public_key);
        let prekey = match (self.aad.mode.prekey_id(), reader.prekey) {
            (Some(_), Some(key)) => Some([key.agree(ephemeral)?, key.agree(identity)?]),
            (Some(_), None) => return Err(OpenError::UnknownKey),
            (None, _) => None,
        };
        let secrets = V1Secrets {
            ephemeral_identity: reader.identity.agree(ephemeral)?,
            identities: reader.identity.agree(identity)?,
            prekey,
        };
        let key = secrets.key(&self.aad.mode).map_err(|_| OpenError::Ciphertext)?;
        let payload = decrypt(&key, self.nonce, &self.aad.bytes(), &self.ciphertext, &self.tag);
        payload_text(payload.map_err(|_| OpenError::Ciphertext)?)
    }
}
