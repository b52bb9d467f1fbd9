//! The envelope of a message for one device.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::error::EnvelopeError;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::fingerprint::certificate_fingerprint;
use super::super::members::{Members, encode};
use super::super::{NONCE_BYTES, SUITE, TAG_BYTES};
use super::aad::{V1Aad, V1Mode};
use crate::pki::ParsedCertificate;

/// The member `type` of an envelope, and of the message that it comes in.
pub const ENVELOPE_TYPE: &str = "e2ee.encrypted";

const VERSION: &str = "1";

/// A sealed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V1Envelope {
    pub aad: V1Aad,
    pub nonce: [u8; NONCE_BYTES],
    pub ciphertext: Vec<u8>,
    pub tag: [u8; TAG_BYTES],
    /// ECDSA in DER.
    pub sender_signature: Vec<u8>,
    /// Members that nothing protects and that are not known.
    pub rest: JsonObject,
}

impl V1Envelope {
    /// Parses an envelope and checks what it says about itself, except for its signature.
    pub fn parse(text: &str) -> Result<Self, EnvelopeError> {
        Self::from_members(Members::parse(text)?)
    }

    pub(super) fn from_members(mut members: Members) -> Result<Self, EnvelopeError> {
        members.constant("type", ENVELOPE_TYPE)?;
        members.constant("version", VERSION)?;
        members.constant("suite", SUITE)?;
        let aad = V1Aad::parse(members.take("aad")?)?;
        let mode = V1Mode::take(&mut members)?;
        let clear = [
            ("encryption_mode", mode == aad.mode),
            (
                "ephemeral_public_key",
                members.text("ephemeral_public_key")? == STANDARD.encode(aad.ephemeral_key.point()),
            ),
            (
                "sender_cert_fingerprint",
                members.text("sender_cert_fingerprint")? == aad.sender_cert_fingerprint,
            ),
        ];
        if let Some((name, _)) = clear.into_iter().find(|(_, equal)| !equal) {
            return Err(EnvelopeError::Mismatch(name));
        }
        Ok(Self {
            aad,
            nonce: members.bytes("nonce")?,
            ciphertext: members.base64("ciphertext")?,
            tag: members.bytes("tag")?,
            sender_signature: members.base64("sender_signature")?,
            rest: members.rest(),
        })
    }

    /// Returns the bytes that the sender signs.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        [self.ciphertext.as_slice(), &self.tag, &self.aad.bytes()].concat()
    }

    /// Checks that the owner of a certificate signed the envelope.
    pub fn verify_sender(&self, certificate: &ParsedCertificate) -> Result<(), EnvelopeError> {
        if self.aad.from != certificate.common_name {
            return Err(EnvelopeError::Mismatch("aad.from"));
        }
        if self.aad.sender_cert_fingerprint != certificate_fingerprint(&certificate.fingerprint) {
            return Err(EnvelopeError::SenderCertificate);
        }
        let verified = certificate.public_key.verify(&self.signed_bytes(), &self.sender_signature);
        verified.map_err(|_| EnvelopeError::Signature)
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        ExactJson::Object(self.members()).to_text()
    }

    pub(super) fn members(&self) -> JsonObject {
        let mut members = self.rest.clone();
        let mut insert = |name: &str, value: ExactJson| members.insert(name.to_owned(), value);
        let texts = [
            ("type", ENVELOPE_TYPE),
            ("version", VERSION),
            ("suite", SUITE),
            ("encryption_mode", self.aad.mode.as_str()),
            ("sender_cert_fingerprint", &self.aad.sender_cert_fingerprint),
        ];
        for (name, text) in texts {
            insert(name, text.into());
        }
        if let Some(prekey_id) = self.aad.mode.prekey_id() {
            insert("prekey_id", prekey_id.into());
        }
        insert("aad", ExactJson::Object(self.aad.members()));
        insert("ephemeral_public_key", encode(self.aad.ephemeral_key.point()));
        insert("nonce", encode(&self.nonce));
        insert("ciphertext", encode(&self.ciphertext));
        insert("tag", encode(&self.tag));
        insert("sender_signature", encode(&self.sender_signature));
        members
    }
}
