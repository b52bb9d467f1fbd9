//! Names of projects and providers, chosen by callers.

use std::fmt;
use std::str::FromStr;

/// A malformed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid {kind} name: use 1 to {max_length} letters, digits and `{symbols}`, starting with a letter or digit"
)]
pub struct InvalidName {
    pub kind: &'static str,
    pub max_length: usize,
    pub symbols: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $kind:literal, $max_length:literal, $symbols:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            pub const MAX_LENGTH: usize = $max_length;

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                let parts_are_valid = text.split('/').all(|part| is_valid_part(part, $symbols));
                if text.len() <= $max_length && parts_are_valid && has_valid_characters(text, $symbols) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(InvalidName { kind: $kind, max_length: $max_length, symbols: $symbols })
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
    /// Name of a project, often `owner/repository`.
    ProjectName, "project", 128, "._-/"
}

name! {
    /// Name of the provider that a run is meant for, such as a machine or a region. It grants nothing.
    ProviderName, "provider", 64, "._-"
}

fn has_valid_characters(text: &str, symbols: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || symbols.contains(c))
}

/// Each part between slashes starts with a letter or digit, so that none is empty, `.` or `..`.
fn is_valid_part(part: &str, symbols: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphanumeric()) && has_valid_characters(part, symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_source_system_are_valid() {
        assert_eq!(
            "pikasTech/unidesk".parse::<ProjectName>().map(String::from),
            Ok("pikasTech/unidesk".into())
        );
        assert_eq!("G14".parse::<ProviderName>().map(String::from), Ok("G14".into()));
    }

    #[test]
    fn path_like_and_pattern_like_names_are_rejected() {
        for text in ["", "/a", "a/", "a//b", "../a", "a/..", "a b", "*", "a/*", "-a", "a\n", &"a".repeat(129)]
        {
            assert!(text.parse::<ProjectName>().is_err(), "{text:?}");
        }
        let error = "a/b".parse::<ProviderName>().expect_err("a provider name has no slash");
        let expected =
            "invalid provider name: use 1 to 64 letters, digits and `._-`, starting with a letter or digit";
        assert_eq!(error.to_string(), expected);
    }
}
