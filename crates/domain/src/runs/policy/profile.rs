//! Names of backend profiles.

use std::fmt;
use std::str::FromStr;

/// The name of a backend profile: lower-case letters, digits and inner dashes. A few profiles are built in; any other
/// name becomes a profile when it has its own provider credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BackendProfile(String);

/// A malformed profile name. The input is not repeated, because it is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid backend profile: use 1 to {} lower-case letters, digits and inner dashes, as in {}",
    BackendProfile::MAX_LENGTH,
    BackendProfile::BUILT_IN.join(", ")
)]
pub struct InvalidProfile;

impl BackendProfile {
    /// With the prefix `guildhall-provider-` it fits a Kubernetes label, which has at most 63 characters.
    pub const MAX_LENGTH: usize = 40;

    /// Profiles that need no configuration.
    pub const BUILT_IN: &'static [&'static str] =
        &["codex", "deepseek", "minimax-m3", "dsflash-go", Self::DEMO];

    /// Uses no provider and needs no credential.
    pub const DEMO: &'static str = "demo";

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_built_in(&self) -> bool {
        Self::BUILT_IN.contains(&self.as_str())
    }

    /// Returns the built-in profiles that need a credential.
    pub fn built_in_with_credential() -> impl Iterator<Item = Self> {
        Self::BUILT_IN.iter().map(|name| Self((*name).to_owned())).filter(Self::needs_credential)
    }

    /// Returns whether runs of this profile need a provider credential.
    #[must_use]
    pub fn needs_credential(&self) -> bool {
        self.0 != Self::DEMO
    }
}

impl FromStr for BackendProfile {
    type Err = InvalidProfile;

    fn from_str(text: &str) -> Result<Self, InvalidProfile> {
        if is_slug(text) { Ok(Self(text.to_owned())) } else { Err(InvalidProfile) }
    }
}

/// Returns whether a text is 1 to 40 lower-case letters, digits and inner dashes.
pub(super) fn is_slug(text: &str) -> bool {
    let is_valid = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=BackendProfile::MAX_LENGTH).contains(&text.len())
        && text.bytes().all(is_valid)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

impl TryFrom<String> for BackendProfile {
    type Error = InvalidProfile;

    fn try_from(text: String) -> Result<Self, InvalidProfile> {
        text.parse()
    }
}

impl From<BackendProfile> for String {
    fn from(profile: BackendProfile) -> Self {
        profile.0
    }
}

impl fmt::Display for BackendProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn built_in_profiles_are_valid() {
        for name in BackendProfile::BUILT_IN {
            let profile: BackendProfile = name.parse().expect(name);
            assert!(profile.is_built_in());
        }
    }

    // covers: R5
    #[test]
    fn invalid_profile_name_error_states_the_rule() {
        for text in ["", "-a", "a-", "A", "a_b", "a b", "é", "../a", &"a".repeat(41)] {
            assert_eq!(text.parse::<BackendProfile>(), Err(InvalidProfile), "{text}");
        }
        assert_eq!(
            InvalidProfile.to_string(),
            "invalid backend profile: use 1 to 40 lower-case letters, digits and inner dashes, \
             as in codex, deepseek, minimax-m3, dsflash-go, demo"
        );
    }

    proptest! {
        #[test]
        fn valid_profile_name_is_kept_unchanged(text in "[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?") {
            prop_assert_eq!(text.parse::<BackendProfile>().map(String::from), Ok(text));
        }
    }
}
