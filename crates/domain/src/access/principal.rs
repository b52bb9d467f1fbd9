//! Kinds of principals, tokens and logins, and slugs.
//!
//! An unknown kind is an error and never a default: unknown authority is rejected.

use std::fmt;
use std::str::FromStr;

use crate::named_enum::named_enum;

named_enum! {
    /// Kind of a principal.
    PrincipalKind, "principal kind";
    Person = "person",
    /// Acts on behalf of its owner.
    Agent = "agent",
    /// A program of a tenant.
    Service = "service",
    /// An end user of a tenant's application, without an account here.
    External = "external",
}

impl PrincipalKind {
    /// Returns whether a principal of this kind can be added to a tenant. Service keys are members of their own tenant
    /// from their creation.
    #[must_use]
    pub const fn can_join_tenants(self) -> bool {
        match self {
            Self::Person => true,
            Self::Agent | Self::Service | Self::External => false,
        }
    }
}

named_enum! {
    /// Kind of a token. It limits what the bearer can do, regardless of their roles.
    TokenKind, "token kind";
    User = "user",
    Agent = "agent",
    Service = "service",
    /// Issued by a service key for one external subject and its sessions.
    External = "external",
    /// Can only register a runner and claim runs.
    Enrolment = "enrolment",
    /// Valid for one run and one lease epoch.
    Run = "run",
}

named_enum! {
    /// Kind of a login.
    LoginKind, "login kind";
    /// A family of refresh tokens.
    Tokens = "tokens",
    /// The session cookie of one browser.
    Browser = "browser",
    /// A family of refresh tokens of an AID, which open connections to the socket.
    Aid = "aid",
}

/// The name of a tenant or project in URLs: lower-case letters, digits and inner dashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

impl Slug {
    /// One-letter names are easily mistyped into another tenant's name.
    pub const MIN_LENGTH: usize = 2;
    /// Leaves room for a prefix in a Kubernetes label, which has at most 63 characters.
    pub const MAX_LENGTH: usize = 40;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a slug is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSlug {
    #[error("a slug has {} to {} characters, this has {length}", Slug::MIN_LENGTH, Slug::MAX_LENGTH)]
    Length { length: usize },
    #[error("a slug cannot contain {0:?}: use lower-case letters, digits and dashes")]
    Character(char),
    #[error("a slug cannot begin or end with a dash: remove it")]
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
    fn kinds_round_trip_through_their_names() {
        for kind in PrincipalKind::ALL {
            assert_eq!(PrincipalKind::from_name(kind.as_str()), Ok(*kind));
        }
        for kind in TokenKind::ALL {
            assert_eq!(TokenKind::from_name(kind.as_str()), Ok(*kind));
        }
    }

    #[test]
    fn unknown_token_kind_error_lists_the_known_kinds() {
        let error = TokenKind::from_name("root").expect_err("there is none");
        assert_eq!(
            error.to_string(),
            "unknown token kind: expected one of user, agent, service, external, enrolment, run"
        );
        assert!(serde_json::from_str::<TokenKind>(r#""root""#).is_err());
        assert!(TokenKind::from_name("User").is_err(), "names are case-sensitive");
    }

    #[test]
    fn invalid_slug_error_says_what_to_change() {
        let error = |text: &str| text.parse::<Slug>().expect_err("invalid").to_string();
        assert_eq!(error("a"), "a slug has 2 to 40 characters, this has 1");
        assert_eq!(error(&"a".repeat(41)), "a slug has 2 to 40 characters, this has 41");
        assert_eq!(error("Acme"), "a slug cannot contain 'A': use lower-case letters, digits and dashes");
        assert_eq!(error("acme-"), "a slug cannot begin or end with a dash: remove it");
        assert!(serde_json::from_str::<Slug>(r#""-acme""#).is_err());
    }

    proptest! {
        #[test]
        fn valid_slug_is_kept_unchanged(text in "[a-z0-9][a-z0-9-]{0,38}[a-z0-9]") {
            let slug: Slug = text.parse().expect("valid");
            prop_assert_eq!(slug.to_string(), text);
        }

        #[test]
        fn accepted_slug_matches_the_pattern(text in any::<String>()) {
            if text.parse::<Slug>().is_ok() {
                prop_assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
                prop_assert!((2..=40).contains(&text.len()));
                prop_assert!(!text.starts_with('-') && !text.ends_with('-'));
            }
        }
    }
}
