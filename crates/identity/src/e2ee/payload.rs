//! Payloads as they come out of an envelope.

use secrecy::zeroize::Zeroizing;

use super::exact_json::ExactJson;
use super::open_error::OpenError;

/// Checks that a plaintext is one JSON object without repeated keys, and not nested too deeply.
pub(super) fn payload_text(plaintext: Zeroizing<Vec<u8>>) -> Result<String, OpenError> {
    let text = std::str::from_utf8(&plaintext).map_err(|_| OpenError::Payload)?;
    ExactJson::parse_object(text).map_err(|_| OpenError::Payload)?;
    Ok(text.to_owned())
}
