//! Paths that a caller names. They are compared with allowed ones as texts, so each has one spelling.

use std::fmt;

use super::InvalidWorkspace;

/// Linux ends at 4096; a workspace has no reason to come near.
pub(super) const MAX_LENGTH: usize = 1024;

/// A path on the runner's machine: absolute, or relative to the place where the runner keeps workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspacePath(String);

/// A path inside a workspace or a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RelativePath(String);

impl WorkspacePath {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RelativePath {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for WorkspacePath {
    type Error = InvalidWorkspace;

    fn try_from(text: String) -> Result<Self, InvalidWorkspace> {
        check(text.strip_prefix('/').unwrap_or(&text))?;
        Ok(Self(text))
    }
}

impl TryFrom<String> for RelativePath {
    type Error = InvalidWorkspace;

    fn try_from(text: String) -> Result<Self, InvalidWorkspace> {
        if text.starts_with('/') {
            return Err(InvalidWorkspace::PathAbsolute);
        }
        check(&text)?;
        Ok(Self(text))
    }
}

/// A leading dash would be an option, and `~` a home, to a program that is given the path.
fn check(relative: &str) -> Result<(), InvalidWorkspace> {
    if relative.is_empty() || relative.len() > MAX_LENGTH || relative.chars().any(char::is_control) {
        return Err(InvalidWorkspace::PathLength);
    }
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    let first = relative.starts_with(['-', '~']);
    if first || relative.contains('\\') || !relative.split('/').all(plain) {
        return Err(InvalidWorkspace::PathForm);
    }
    Ok(())
}

impl From<WorkspacePath> for String {
    fn from(path: WorkspacePath) -> Self {
        path.0
    }
}

impl From<RelativePath> for String {
    fn from(path: RelativePath) -> Self {
        path.0
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_that_leaves_its_place_or_has_a_second_spelling_is_refused() {
        for text in ["..", "../a", "a/../b", "a/..", "./a", "a//b", "a/", "a\\..\\b", "-rf", "~/a", "//a"] {
            assert!(WorkspacePath::try_from(text.to_owned()).is_err(), "{text}");
        }
        for text in ["", "/", "a\0b", "a\nb", &"a".repeat(1025)] {
            assert_eq!(
                WorkspacePath::try_from(text.to_owned()),
                Err(InvalidWorkspace::PathLength),
                "{text:?}"
            );
        }
        assert_eq!(RelativePath::try_from("/etc".to_owned()), Err(InvalidWorkspace::PathAbsolute));
        assert!(WorkspacePath::try_from("/srv/work/..hidden/.git".to_owned()).is_ok());
    }

    proptest! {
        #[test]
        fn an_accepted_path_stays_below_where_it_starts(text in "[a./~-]{0,12}") {
            if let Ok(path) = RelativePath::try_from(text) {
                let only_down = std::path::Path::new(path.as_str())
                    .components()
                    .all(|part| matches!(part, std::path::Component::Normal(_)));
                prop_assert!(only_down);
            }
        }
    }
}
