//! External subjects: end users of a tenant's application, identified by the application's own user ids.

use std::fmt;
use std::str::FromStr;

use crate::ids::{AgentId, TenantId};

/// What the token of an external subject is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubjectScope {
    /// The tenant whose application the subject belongs to. The subject has no role in it.
    pub tenant: TenantId,
    /// The agent whose threads the subject may use; none for a token that only identifies the subject.
    pub agent: Option<AgentId>,
}

/// An application's id of one of its users. An opaque string, compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject(String);

impl Subject {
    /// The maximum length of `sub` in OpenID Connect.
    pub const MAX_LENGTH: usize = 255;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A malformed subject. The input is not repeated, because it identifies a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to {} characters and no control characters", Subject::MAX_LENGTH)]
pub struct InvalidSubject;

impl FromStr for Subject {
    type Err = InvalidSubject;

    fn from_str(text: &str) -> Result<Self, InvalidSubject> {
        let has_valid_length = (1..=Self::MAX_LENGTH).contains(&text.chars().count());
        if has_valid_length && !text.chars().any(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSubject)
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_long_and_control_characters_are_rejected() {
        for text in ["", &"x".repeat(256), "tab\there", "nul\0", "\u{85}"] {
            assert_eq!(text.parse::<Subject>(), Err(InvalidSubject), "{text:?}");
        }
        assert_eq!(InvalidSubject.to_string(), "use 1 to 255 characters and no control characters");
    }

    proptest! {
        #[test]
        fn valid_subject_is_kept_unchanged(text in "\\PC{1,255}") {
            prop_assert_eq!(text.parse::<Subject>().map(|subject| subject.to_string()), Ok(text));
        }
    }
}
