//! Who there is: the kinds of principal, the kinds of token, and the name of a tenant.
//!
//! A kind that is not known is an error and never a default: unknown authority is refused.

use std::fmt;
use std::str::FromStr;

/// A word that names no value of its kind. The word itself is not repeated: it may come from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what}: expected one of {}", .known.join(", "))]
pub struct UnknownName {
    pub what: &'static str,
    pub known: &'static [&'static str],
}

/// Defines an enum whose values have one name each, the same in the database, on the wire and in the docs.
macro_rules! named {
    (
        $(#[$doc:meta])* $type:ident, $what:literal;
        $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$variant_doc])* $variant,)+ }

        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name that is stored and sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Finds the value of a name. There is no default: what is not known is refused.
            pub fn from_name(name: &str) -> Result<Self, $crate::access::principal::UnknownName> {
                match name {
                    $($name => Ok(Self::$variant),)+
                    _ => Err($crate::access::principal::UnknownName { what: $what, known: &[$($name,)+] }),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::from_name(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use named;

named! {
    /// What a principal is.
    PrincipalKind, "principal kind";
    Person = "person",
    /// Acts for its owner.
    Agent = "agent",
    /// A program of a tenant.
    Service = "service",
    /// An end user of a tenant's application; it has no account here.
    External = "external",
}

named! {
    /// What a token was made for. It bounds what its bearer may do, whatever else the bearer is.
    TokenKind, "token kind";
    User = "user",
    Agent = "agent",
    Service = "service",
    /// Minted by a service key for one external subject and its sessions.
    External = "external",
    /// May only register a runner and claim.
    Enrolment = "enrolment",
    /// One run under one lease epoch.
    Run = "run",
}

named! {
    /// What a login keeps alive.
    LoginKind, "login kind";
    /// A family of refresh tokens.
    Tokens = "tokens",
    /// A cookie of one browser.
    Browser = "browser",
}

/// The name of a tenant in addresses: lower-case letters, digits and inner dashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

impl Slug {
    /// One letter is too easily mistyped into another tenant's name.
    pub const MIN_LENGTH: usize = 2;
    /// Leaves room for a prefix in a Kubernetes label, which ends at 63.
    pub const MAX_LENGTH: usize = 40;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no slug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSlug {
    #[error("a short name has {} to {} characters, this has {length}", Slug::MIN_LENGTH, Slug::MAX_LENGTH)]
    Length { length: usize },
    #[error("a short name cannot contain {0:?}: use lower-case letters, digits and dashes")]
    Character(char),
    #[error("a short name cannot begin or end with a dash: remove it")]
    OuterDash,
}

impl FromStr for Slug {
    type Err = InvalidSlug;

    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        let length = text.chars().count();
        if !(Self::MIN_LENGTH..=Self::MAX_LENGTH).contains(&length) {
            return Err(InvalidSlug::Length { length });
        }
        if let Some(wrong) = text.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-')) {
            return Err(InvalidSlug::Character(wrong));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return Err(InvalidSlug::OuterDash);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Slug {
    type Error = InvalidSlug;

    fn try_from(text: String) -> Result<Self, InvalidSlug> {
        text.parse()
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_is_found_again_by_its_name() {
        for kind in PrincipalKind::ALL {
            assert_eq!(PrincipalKind::from_name(kind.as_str()), Ok(*kind));
        }
        for kind in TokenKind::ALL {
            assert_eq!(TokenKind::from_name(kind.as_str()), Ok(*kind));
        }
    }

    #[test]
    fn an_unknown_token_kind_is_refused_with_the_known_ones() {
        let error = TokenKind::from_name("root").expect_err("there is none");
        assert_eq!(
            error.to_string(),
            "unknown token kind: expected one of user, agent, service, external, enrolment, run"
        );
        assert!(serde_json::from_str::<TokenKind>(r#""root""#).is_err());
        assert!(TokenKind::from_name("User").is_err(), "there is one spelling");
    }

    #[test]
    fn a_slug_that_is_refused_says_what_to_write() {
        let refused = |text: &str| text.parse::<Slug>().expect_err("refused").to_string();
        assert_eq!(refused("a"), "a short name has 2 to 40 characters, this has 1");
        assert_eq!(refused(&"a".repeat(41)), "a short name has 2 to 40 characters, this has 41");
        assert_eq!(
            refused("Acme"),
            "a short name cannot contain 'A': use lower-case letters, digits and dashes"
        );
        assert_eq!(refused("acme-"), "a short name cannot begin or end with a dash: remove it");
        assert!(serde_json::from_str::<Slug>(r#""-acme""#).is_err());
    }

    proptest! {
        #[test]
        fn every_text_of_the_form_is_a_slug_and_stays_as_it_is(text in "[a-z0-9][a-z0-9-]{0,38}[a-z0-9]") {
            let slug: Slug = text.parse().expect("of the form");
            prop_assert_eq!(slug.to_string(), text);
        }

        #[test]
        fn no_other_text_is_a_slug(text in any::<String>()) {
            if text.parse::<Slug>().is_ok() {
                prop_assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
                prop_assert!((2..=40).contains(&text.len()));
                prop_assert!(!text.starts_with('-') && !text.ends_with('-'));
            }
        }
    }
}
