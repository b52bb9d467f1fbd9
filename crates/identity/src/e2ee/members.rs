//! Reads the members of an envelope.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::bounds::{MAX_ENVELOPE_BYTES, MAX_TEXT_BYTES};
use super::canonical::safe_integer;
use super::error::EnvelopeError;
use super::exact_json::{ExactJson, JsonObject};

/// The members of an object that were not read yet. What is left at the end is kept as it is.
#[derive(Debug)]
pub(super) struct Members(JsonObject);

impl Members {
    pub(super) fn parse(text: &str) -> Result<Self, EnvelopeError> {
        if text.len() > MAX_ENVELOPE_BYTES {
            return Err(EnvelopeError::TooLong);
        }
        ExactJson::parse_object(text).map(Self).map_err(EnvelopeError::Json)
    }

    pub(super) fn of(json: ExactJson, name: &'static str) -> Result<Self, EnvelopeError> {
        object(json).map(Self).ok_or(EnvelopeError::Member(name))
    }

    pub(super) fn rest(self) -> JsonObject {
        self.0
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn take(&mut self, name: &'static str) -> Result<ExactJson, EnvelopeError> {
        self.0.remove(name).ok_or(EnvelopeError::Member(name))
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<String, EnvelopeError> {
        bounded_text(self.take(name)?).ok_or(EnvelopeError::Member(name))
    }

    /// Removes a member that is `null`. Returns whether there is none left.
    pub(super) fn take_null(&mut self, name: &str) -> bool {
        matches!(self.0.remove(name), None | Some(ExactJson::Null))
    }

    /// Returns a text that may be missing. `null` is not missing.
    pub(super) fn optional_text(&mut self, name: &'static str) -> Result<Option<String>, EnvelopeError> {
        if self.has(name) { self.text(name).map(Some) } else { Ok(None) }
    }

    pub(super) fn optional_object(
        &mut self,
        name: &'static str,
    ) -> Result<Option<JsonObject>, EnvelopeError> {
        let Some(json) = self.0.remove(name) else { return Ok(None) };
        object(json).map(Some).ok_or(EnvelopeError::Member(name))
    }

    pub(super) fn array(&mut self, name: &'static str) -> Result<Vec<ExactJson>, EnvelopeError> {
        array(self.take(name)?).ok_or(EnvelopeError::Member(name))
    }

    pub(super) fn integer(&mut self, name: &'static str) -> Result<i64, EnvelopeError> {
        safe_integer(&self.take(name)?).ok_or(EnvelopeError::Member(name))
    }

    pub(super) fn base64(&mut self, name: &'static str) -> Result<Vec<u8>, EnvelopeError> {
        base64(self.take(name)?).ok_or(EnvelopeError::Member(name))
    }

    pub(super) fn bytes<const N: usize>(&mut self, name: &'static str) -> Result<[u8; N], EnvelopeError> {
        self.base64(name)?.try_into().map_err(|_| EnvelopeError::Member(name))
    }

    /// Checks a member that has only one supported value.
    pub(super) fn constant(&mut self, name: &'static str, expected: &str) -> Result<(), EnvelopeError> {
        if self.text(name)? == expected { Ok(()) } else { Err(EnvelopeError::Unsupported(name)) }
    }
}

/// Returns a text without control characters: hashes join texts with zero bytes.
pub(super) fn bounded_text(json: ExactJson) -> Option<String> {
    let ExactJson::String(text) = json else { return None };
    is_bounded(&text).then_some(text)
}

/// Returns whether an envelope can have a text as a name or an id.
pub(super) fn is_bounded(text: &str) -> bool {
    text.len() <= MAX_TEXT_BYTES && !text.contains(char::is_control)
}

pub(super) fn base64(json: ExactJson) -> Option<Vec<u8>> {
    let ExactJson::String(text) = json else { return None };
    STANDARD.decode(text).ok()
}

pub(super) fn array(json: ExactJson) -> Option<Vec<ExactJson>> {
    let ExactJson::Array(items) = json else { return None };
    Some(items)
}

fn object(json: ExactJson) -> Option<JsonObject> {
    let ExactJson::Object(members) = json else { return None };
    Some(members)
}

pub(super) fn encode(bytes: &[u8]) -> ExactJson {
    ExactJson::String(STANDARD.encode(bytes))
}
