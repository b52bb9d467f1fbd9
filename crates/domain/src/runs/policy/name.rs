//! Names that a caller brings: of a project and of a provider.

use std::fmt;
use std::str::FromStr;

/// A text that is no name of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a {what}: use 1 to {longest} letters, digits and `{signs}`, beginning with a letter or digit")]
pub struct InvalidName {
    pub what: &'static str,
    pub longest: usize,
    pub signs: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $longest:literal, $signs:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            pub const MAX_LENGTH: usize = $longest;

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                if text.len() <= $longest && text.split('/').all(|part| is_part(part, $signs)) && fits(text, $signs) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(InvalidName { what: $what, longest: $longest, signs: $signs })
                }
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// A project as its owner calls it, often `owner/repository`.
    ProjectName, "project", 128, "._-/"
}

name! {
    /// The provider that a run is meant for, such as a machine or a region. It grants nothing.
    ProviderName, "provider", 64, "._-"
}

fn fits(text: &str, signs: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
}

/// Each part between slashes begins like a name, so that none is empty, `.` or `..`.
fn is_part(part: &str, signs: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphanumeric()) && fits(part, signs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_source_are_names() {
        assert_eq!(
            "pikasTech/unidesk".parse::<ProjectName>().map(String::from),
            Ok("pikasTech/unidesk".into())
        );
        assert_eq!("G14".parse::<ProviderName>().map(String::from), Ok("G14".into()));
    }

    #[test]
    fn what_could_be_read_as_a_path_or_a_pattern_is_no_name() {
        for text in ["", "/a", "a/", "a//b", "../a", "a/..", "a b", "*", "a/*", "-a", "a\n", &"a".repeat(129)]
        {
            assert!(text.parse::<ProjectName>().is_err(), "{text:?}");
        }
        let error = "a/b".parse::<ProviderName>().expect_err("a provider has no parts");
        let expected =
            "not a provider: use 1 to 64 letters, digits and `._-`, beginning with a letter or digit";
        assert_eq!(error.to_string(), expected);
    }
}
