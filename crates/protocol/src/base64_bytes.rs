//! Bytes in JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// Bytes, in JSON as base64 text.
#[derive(Debug, Clone, PartialEq, Eq, Default, ToSchema)]
#[schema(value_type = String, format = Byte, example = "ZGlmZg==")]
pub struct Base64Bytes(pub Vec<u8>);

impl Serialize for Base64Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The error does not repeat the text.
        STANDARD.decode(text).map(Self).map_err(|_| serde::de::Error::custom("expected base64"))
    }
}
