//! How a sender seals a message for one device.

use super::super::NONCE_BYTES;
use super::super::agreement::{AgreementKey, IdentityKey};
use super::super::canonical::canonical_json;
use super::super::cipher::encrypt;
use super::super::exact_json::JsonObject;
use super::super::fingerprint::certificate_fingerprint;
use super::super::members::is_bounded;
use super::super::open_error::SealingError;
use super::aad::{V1Aad, V1Mode};
use super::envelope::V1Envelope;
use super::keys::V1Secrets;
use crate::pki::{P256PublicKey, ParsedCertificate};
use crate::random;

/// A device, or an AID without devices, that a message is sealed for. Its keys were verified.
#[derive(Debug, Clone, Copy)]
pub struct V1Recipient<'a> {
    pub certificate: &'a ParsedCertificate,
    /// The id of a prekey and the key. Without it, the message is sealed for the identity key alone.
    pub prekey: Option<(&'a str, &'a P256PublicKey)>,
}

/// A message to seal.
#[derive(Debug, Clone, Copy)]
pub struct V1Message<'a> {
    /// The certificate of the sender.
    pub from: &'a ParsedCertificate,
    /// The recipient that the message is sent to: the same for the copies of the sender's own devices.
    pub to: &'a str,
    pub message_id: &'a str,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    pub payload: &'a JsonObject,
}

/// What is random in a sealed message.
pub(super) struct V1Randomness {
    pub(super) ephemeral: AgreementKey,
    pub(super) nonce: [u8; NONCE_BYTES],
}

impl V1Message<'_> {
    /// Seals the message for one device, and signs it with the identity key of the sender.
    pub fn seal(
        &self,
        sender: &dyn IdentityKey,
        recipient: &V1Recipient<'_>,
    ) -> Result<V1Envelope, SealingError> {
        let randomness = V1Randomness { ephemeral: AgreementKey::generate()?, nonce: *random::bytes() };
        self.seal_with(&randomness, sender, recipient)
    }

    pub(super) fn seal_with(
        &self,
        randomness: &V1Randomness,
        sender: &dyn IdentityKey,
        recipient: &V1Recipient<'_>,
    ) -> Result<V1Envelope, SealingError> {
        let aad = self.aad(randomness, recipient)?;
        let key = secrets(randomness, sender, recipient)?.key(&aad.mode)?;
        let mut ciphertext = canonical_json(self.payload).map_err(|_| SealingError::Payload)?;
        let tag = encrypt(&key, randomness.nonce, &aad.bytes(), &mut ciphertext)?;
        let mut envelope = V1Envelope {
            aad,
            nonce: randomness.nonce,
            ciphertext,
            tag,
            sender_signature: Vec::new(),
            rest: JsonObject::new(),
        };
        envelope.sender_signature = sender.sign(&envelope.signed_bytes()).map_err(|_| SealingError::Sign)?;
        Ok(envelope)
    }

    fn aad(&self, randomness: &V1Randomness, recipient: &V1Recipient<'_>) -> Result<V1Aad, SealingError> {
        let prekey_id = recipient.prekey.map(|(id, _)| id);
        let names = [Some(self.to), Some(self.message_id), Some(&self.from.common_name), prekey_id];
        if !names.into_iter().flatten().all(is_bounded) {
            return Err(SealingError::Names);
        }
        let mode =
            prekey_id.map_or(V1Mode::LongTermKey, |id| V1Mode::PrekeyEcdhV2 { prekey_id: id.to_owned() });
        Ok(V1Aad {
            from: self.from.common_name.clone(),
            to: self.to.to_owned(),
            message_id: self.message_id.to_owned(),
            timestamp_ms: self.timestamp_ms,
            mode,
            ephemeral_key: randomness.ephemeral.public_key().clone(),
            sender_cert_fingerprint: certificate_fingerprint(&self.from.fingerprint),
            recipient_cert_fingerprint: certificate_fingerprint(&recipient.certificate.fingerprint),
            rest: JsonObject::new(),
        })
    }
}

fn secrets(
    randomness: &V1Randomness,
    sender: &dyn IdentityKey,
    recipient: &V1Recipient<'_>,
) -> Result<V1Secrets, SealingError> {
    let (ephemeral, identity) = (&randomness.ephemeral, &recipient.certificate.public_key);
    let prekey = match recipient.prekey {
        Some((_, key)) => Some([ephemeral.agree(key)?, sender.agree(key)?]),
        None => None,
    };
    Ok(V1Secrets {
        ephemeral_identity: ephemeral.agree(identity)?,
        identities: sender.agree(identity)?,
        prekey,
    })
}
