//! Who a reader says it is.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

const BYTES: std::ops::RangeInclusive<usize> = 1..=128;

/// The name that a client gives itself, to find itself again in frames and logs. It is a claim and opens nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientId(String);

/// A text that is no client id. It is not repeated: anything may stand in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 128 letters, digits and `._:-`")]
pub struct InvalidClientId;

impl ClientId {
    /// Makes up an id for a client that came without.
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
        if BYTES.contains(&text.len()) && text.bytes().all(is_plain) {
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
        fn an_id_of_the_allowed_form_stays_as_it_is(text in "[A-Za-z0-9._:-]{1,128}") {
            prop_assert_eq!(text.parse::<ClientId>().map(|id| id.to_string()), Ok(text));
        }

        #[test]
        fn whatever_is_taken_can_stand_in_a_header_a_log_line_and_a_frame(text in any::<String>()) {
            if let Ok(id) = text.parse::<ClientId>() {
                prop_assert!(id.as_str().bytes().all(|b| b.is_ascii_graphic() && !b"\"\\<>&".contains(&b)));
            }
        }
    }

    #[test]
    fn nothing_and_too_much_are_refused_and_a_made_up_id_is_of_the_form() {
        for text in ["", "two words", "new\nline", "ä", &"x".repeat(129)] {
            assert_eq!(text.parse::<ClientId>(), Err(InvalidClientId), "{text:?}");
        }
        let made = ClientId::generate();
        assert_eq!(made.as_str().parse(), Ok(made.clone()));
        assert_ne!(made, ClientId::generate());
    }
}
