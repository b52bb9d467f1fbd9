//! Instructions of agents.

use serde::{Deserialize, Serialize};

/// What an agent is told before the first turn of a conversation. Members of the tenant can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Instructions(String);

impl Instructions {
    pub const MAX_BYTES: usize = 32 * 1024;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Instructions {
    type Error = InvalidInstructions;

    fn try_from(text: String) -> Result<Self, InvalidInstructions> {
        let is_allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
        if text.len() <= Self::MAX_BYTES && !text.trim().is_empty() && text.chars().all(is_allowed) {
            Ok(Self(text))
        } else {
            Err(InvalidInstructions)
        }
    }
}

impl From<Instructions> for String {
    fn from(instructions: Instructions) -> Self {
        instructions.0
    }
}

/// A text that an agent cannot be told. It is not repeated, because it may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "instructions: use 1 to {} bytes, not only white space, and no control characters except tabs and line breaks",
    Instructions::MAX_BYTES
)]
pub struct InvalidInstructions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_text_within_their_length() {
        for valid in ["x", "two\n\tlines\r\n", &"x".repeat(32 * 1024)] {
            assert!(Instructions::try_from(valid.to_owned()).is_ok(), "{valid:.20}");
        }
        for invalid in ["", " \n", "a\0b", "a\u{1b}[2J", &"x".repeat(32 * 1024 + 1)] {
            let error = Instructions::try_from(invalid.to_owned());
            assert_eq!(error, Err(InvalidInstructions), "{invalid:.20}");
        }
    }
}
