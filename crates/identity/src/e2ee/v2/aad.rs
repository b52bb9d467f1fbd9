//! What V2 authenticates with the ciphertext.

use super::super::SUITE;
use super::super::canonical::canonical_json;
use super::super::error::EnvelopeError;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::members::Members;
use super::wrap_protocol::WrapProtocol;

/// The names of a message. All members are authenticated, also those that are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V2Aad {
    pub from: String,
    pub from_device: String,
    pub to: String,
    pub message_id: String,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    pub wrap_protocol: WrapProtocol,
    /// Members that are not known.
    pub rest: JsonObject,
}

impl V2Aad {
    /// Parses the member `aad` of an envelope.
    pub(super) fn parse(json: ExactJson) -> Result<Self, EnvelopeError> {
        let mut members = Members::of(json, "aad")?;
        members.constant("suite", SUITE)?;
        Ok(Self {
            from: members.text("from")?,
            from_device: members.text("from_device")?,
            to: members.text("to")?,
            message_id: members.text("message_id")?,
            timestamp_ms: members.integer("timestamp")?,
            wrap_protocol: WrapProtocol::parse(&members.text("wrap_protocol")?)?,
            rest: members.rest(),
        })
    }

    /// Returns the bytes that are authenticated and signed.
    pub fn bytes(&self) -> Result<Vec<u8>, EnvelopeError> {
        canonical_json(&self.members()).map_err(|_| EnvelopeError::Member("aad"))
    }

    pub(super) fn members(&self) -> JsonObject {
        let texts = [
            ("from", self.from.as_str()),
            ("from_device", &self.from_device),
            ("to", &self.to),
            ("message_id", &self.message_id),
            ("suite", SUITE),
            ("wrap_protocol", self.wrap_protocol.as_str()),
        ];
        let mut members = self.rest.clone();
        members.extend(texts.map(|(name, text)| (name.to_owned(), ExactJson::from(text))));
        members.insert("timestamp".to_owned(), self.timestamp_ms.into());
        members
    }
}
