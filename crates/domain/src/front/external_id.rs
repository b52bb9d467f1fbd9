//! Ids that clients choose.

use std::fmt;
use std::str::FromStr;

use crate::ids::ApprovalId;

/// An id that a client chose for a thread, a run or a message: 1 to 128 characters, none of them a control character.
/// It is not ours, so it has no form beyond that, and names something only together with its owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExternalId(String);

/// The text cannot be an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {} characters, none of them a control character", ExternalId::MAX_CHARS)]
pub struct InvalidExternalId;

impl ExternalId {
    pub const MAX_CHARS: usize = 128;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ExternalId {
    type Err = InvalidExternalId;

    fn from_str(text: &str) -> Result<Self, InvalidExternalId> {
        let is_short = (1..=Self::MAX_CHARS).contains(&text.chars().count());
        if is_short && !text.chars().any(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidExternalId)
        }
    }
}

/// The id of a run that the client has not named: what follows the answer to a question.
impl From<ApprovalId> for ExternalId {
    fn from(approval: ApprovalId) -> Self {
        Self(approval.to_string())
    }
}

impl fmt::Display for ExternalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_a_bounded_text_without_control_characters() {
        let longest = "é".repeat(ExternalId::MAX_CHARS);
        for text in ["m", "message of run-1", "会话", longest.as_str()] {
            assert_eq!(text.parse::<ExternalId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        let too_long = "r".repeat(ExternalId::MAX_CHARS + 1);
        for text in ["", "a\0b", "line\nbreak", "\u{7f}", "\u{85}", too_long.as_str()] {
            assert_eq!(text.parse::<ExternalId>(), Err(InvalidExternalId), "{text:?}");
        }
    }
}
