//! Client ids of stream readers.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

const LENGTH: std::ops::RangeInclusive<usize> = 1..=128;

/// An id that a client chooses, to find itself in frames and logs. It is not verified and grants nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientId(String);

/// A malformed client id. The input is not repeated, because a header is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 128 letters, digits and `._:-`")]
pub struct InvalidClientId;

impl ClientId {
    /// Generates an id for a client that sent none.
    #[must_use]
    pub fn generate() -> Self {
        Self(format!("client_{}", Uuid::now_v7().simple()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ClientId {
    type Err = InvalidClientId;

    fn from_str(text: &str) -> Result<Self, InvalidClientId> {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
        if LENGTH.contains(&text.len()) && text.bytes().all(is_plain) {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidClientId)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn valid_id_is_kept_unchanged(text in "[A-Za-z0-9._:-]{1,128}") {
            prop_assert_eq!(text.parse::<ClientId>().map(|id| id.to_string()), Ok(text));
        }

        #[test]
        fn accepted_id_is_safe_in_headers_logs_and_frames(text in any::<String>()) {
            if let Ok(id) = text.parse::<ClientId>() {
                prop_assert!(id.as_str().bytes().all(|b| b.is_ascii_graphic() && !b"\"\\<>&".contains(&b)));
            }
        }
    }

    #[test]
    fn invalid_ids_are_rejected_and_generated_ids_are_valid() {
        for text in ["", "two words", "new\nline", "ä", &"x".repeat(129)] {
            assert_eq!(text.parse::<ClientId>(), Err(InvalidClientId), "{text:?}");
        }
        let generated = ClientId::generate();
        assert_eq!(generated.as_str().parse(), Ok(generated.clone()));
        assert_ne!(generated, ClientId::generate());
    }
}
