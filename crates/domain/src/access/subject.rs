//! External subjects: end users of a tenant's application, under the application's own names for them.

use std::fmt;
use std::str::FromStr;

/// The name that an application has for one of its users. It is compared character by character and never read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject(String);

impl Subject {
    /// As long as the `sub` of OpenID Connect may be.
    pub const MAX_LENGTH: usize = 255;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no subject. It is not repeated: it names a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to {} characters, none of them invisible", Subject::MAX_LENGTH)]
pub struct InvalidSubject;

impl FromStr for Subject {
    type Err = InvalidSubject;

    fn from_str(text: &str) -> Result<Self, InvalidSubject> {
        let fits = (1..=Self::MAX_LENGTH).contains(&text.chars().count());
        if fits && !text.chars().any(char::is_control) {
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
    fn an_empty_an_overlong_and_an_invisible_subject_are_refused() {
        for text in ["", &"x".repeat(256), "tab\there", "nul\0", "\u{85}"] {
            assert_eq!(text.parse::<Subject>(), Err(InvalidSubject), "{text:?}");
        }
        assert_eq!(InvalidSubject.to_string(), "use 1 to 255 characters, none of them invisible");
    }

    proptest! {
        #[test]
        fn a_subject_stays_as_it_was_written(text in "\\PC{1,255}") {
            prop_assert_eq!(text.parse::<Subject>().map(|subject| subject.to_string()), Ok(text));
        }
    }
}
