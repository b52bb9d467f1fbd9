//! Signing secrets of webhooks, as Standard Webhooks defines them: HMAC-SHA256 with 32 random bytes.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::webhooks::message::SECRET_PREFIX;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use crate::random;

const SECRET_BYTES: usize = 32;

/// The length of the text form: the prefix and 44 characters.
const TEXT_LENGTH: usize = SECRET_PREFIX.len() + SECRET_BYTES.div_ceil(3) * 4;

/// A secret that signs the requests of one webhook. Its receiver has the same one.
pub struct WebhookSecret(Zeroizing<[u8; SECRET_BYTES]>);

/// Not a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signing secret does not have {SECRET_BYTES} bytes")]
pub struct InvalidWebhookSecret;

impl WebhookSecret {
    #[must_use]
    pub fn generate() -> Self {
        Self(random::bytes())
    }

    /// Reads what [`Self::expose`] returned.
    pub fn from_bytes(bytes: &SecretSlice<u8>) -> Result<Self, InvalidWebhookSecret> {
        let bytes = bytes.expose_secret().try_into().map_err(|_| InvalidWebhookSecret)?;
        Ok(Self(Zeroizing::new(bytes)))
    }

    /// Reads what [`Self::to_text`] returned.
    pub fn from_text(text: &SecretString) -> Result<Self, InvalidWebhookSecret> {
        let encoded = text.expose_secret().strip_prefix(SECRET_PREFIX).ok_or(InvalidWebhookSecret)?;
        let bytes = STANDARD.decode(encoded).map(SecretSlice::from).map_err(|_| InvalidWebhookSecret)?;
        Self::from_bytes(&bytes)
    }

    /// Returns the bytes, to be sealed.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Returns the text form, which the libraries of receivers take.
    #[must_use]
    pub fn to_text(&self) -> SecretString {
        // Allocated with the exact size: reallocation would leave copies in memory.
        let mut text = String::with_capacity(TEXT_LENGTH);
        text.push_str(SECRET_PREFIX);
        STANDARD.encode_string(self.0.as_slice(), &mut text);
        SecretString::from(text)
    }

    /// Returns the signature of a message, in base 64.
    #[must_use]
    pub fn sign(&self, content: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_slice());
        STANDARD.encode(hmac::sign(&key, content.as_bytes()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(bytes: &[u8]) -> Result<WebhookSecret, InvalidWebhookSecret> {
        WebhookSecret::from_bytes(&SecretSlice::from(bytes.to_vec()))
    }

    /// Computed with another program: base64(HMAC-SHA256(32 times "0", content)).
    #[test]
    fn signature_matches_an_independent_computation() {
        let secret = secret(&[b'0'; 32]).expect("32 bytes");
        assert_eq!(secret.sign("evt_1.1794902400.{}"), "4p3FHzGkB5iPpH+eIe5JL2rUVgDJ9Ik8KYY1PXOnNx0=");
        assert_eq!(secret.to_text().expose_secret(), "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=");
    }

    #[test]
    fn generated_secrets_differ_and_are_not_printed() {
        let (one, other) = (WebhookSecret::generate(), WebhookSecret::generate());
        assert_ne!(one.to_text().expose_secret(), other.to_text().expose_secret());
        assert_eq!(one.to_text().expose_secret().len(), TEXT_LENGTH);
        assert_eq!(format!("{one:?}"), "WebhookSecret([redacted])");
        let again = secret(one.expose()).expect("32 bytes");
        assert_eq!(again.sign("content"), one.sign("content"));
        let read = WebhookSecret::from_text(&one.to_text()).expect("the text form");
        assert_eq!(read.sign("content"), one.sign("content"));
        assert_ne!(other.sign("content"), one.sign("content"));
    }

    #[test]
    fn bytes_of_another_length_are_rejected() {
        for length in [0, 31, 33] {
            assert_eq!(secret(&vec![0; length]).err(), Some(InvalidWebhookSecret));
        }
        for text in ["", "whsec_", "whsec_AAAA", "whsec_?", "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA="] {
            let read = WebhookSecret::from_text(&SecretString::from(text));
            assert_eq!(read.err(), Some(InvalidWebhookSecret), "{text}");
        }
    }
}
