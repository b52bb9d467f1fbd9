//! What v1 authenticates with the ciphertext.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::SUITE;
use super::super::error::EnvelopeError;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::members::Members;
use crate::pki::P256PublicKey;

/// Which keys of the recipient encrypt the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V1Mode {
    /// The prekey of a device and the identity key.
    PrekeyEcdhV2 { prekey_id: String },
    /// The identity key alone.
    LongTermKey,
}

/// The names and the keys of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V1Aad {
    pub from: String,
    pub to: String,
    pub message_id: String,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    pub mode: V1Mode,
    /// The key pair of this message alone.
    pub ephemeral_key: P256PublicKey,
    /// `sha256:` and 64 digits.
    pub sender_cert_fingerprint: String,
    pub recipient_cert_fingerprint: String,
    /// Members that are not known. They are not authenticated.
    pub rest: JsonObject,
}

impl V1Mode {
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::PrekeyEcdhV2 { .. } => "prekey_ecdh_v2",
            Self::LongTermKey => "long_term_key",
        }
    }

    #[must_use]
    pub fn prekey_id(&self) -> Option<&str> {
        match self {
            Self::PrekeyEcdhV2 { prekey_id } => Some(prekey_id),
            Self::LongTermKey => None,
        }
    }

    /// Reads the mode of an envelope or of its AAD.
    pub(super) fn take(members: &mut Members) -> Result<Self, EnvelopeError> {
        match members.text("encryption_mode")?.as_str() {
            "prekey_ecdh_v2" => Ok(Self::PrekeyEcdhV2 { prekey_id: members.text("prekey_id")? }),
            // Readers take an id from either place: it must be in none.
            "long_term_key" if !members.take_null("prekey_id") => Err(EnvelopeError::Member("prekey_id")),
            "long_term_key" => Ok(Self::LongTermKey),
            _ => Err(EnvelopeError::Unsupported("encryption_mode")),
        }
    }
}

impl V1Aad {
    /// Parses the member `aad` of an envelope.
    pub(super) fn parse(json: ExactJson) -> Result<Self, EnvelopeError> {
        let mut members = Members::of(json, "aad")?;
        members.constant("suite", SUITE)?;
        let ephemeral = P256PublicKey::from_point(&members.base64("ephemeral_public_key")?);
        Ok(Self {
            from: members.text("from")?,
            to: members.text("to")?,
            message_id: members.text("message_id")?,
            timestamp_ms: members.integer("timestamp")?,
            mode: V1Mode::take(&mut members)?,
            ephemeral_key: ephemeral.map_err(|_| EnvelopeError::Member("ephemeral_public_key"))?,
            sender_cert_fingerprint: members.text("sender_cert_fingerprint")?,
            recipient_cert_fingerprint: members.text("recipient_cert_fingerprint")?,
            rest: members.rest(),
        })
    }

    /// Returns the bytes that are authenticated and signed: exactly ten members, with `null` where there is no prekey.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut members = self.known_members();
        members.entry("prekey_id".to_owned()).or_insert(ExactJson::Null);
        ExactJson::Object(members).to_text().into_bytes()
    }

    /// Returns the member `aad` of an envelope.
    pub(super) fn members(&self) -> JsonObject {
        let mut members = self.rest.clone();
        members.extend(self.known_members());
        members
    }

    fn known_members(&self) -> JsonObject {
        let ephemeral = STANDARD.encode(self.ephemeral_key.point());
        let texts = [
            ("from", Some(self.from.as_str())),
            ("to", Some(&self.to)),
            ("message_id", Some(&self.message_id)),
            ("encryption_mode", Some(self.mode.as_str())),
            ("suite", Some(SUITE)),
            ("ephemeral_public_key", Some(&ephemeral)),
            ("sender_cert_fingerprint", Some(&self.sender_cert_fingerprint)),
            ("recipient_cert_fingerprint", Some(&self.recipient_cert_fingerprint)),
            ("prekey_id", self.mode.prekey_id()),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
        let mut members: JsonObject = texts.collect();
        members.insert("timestamp".to_owned(), self.timestamp_ms.into());
        members
    }
}
