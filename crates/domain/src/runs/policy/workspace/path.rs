//! Paths from callers. They are compared with allow lists as strings, so every path has one canonical form.

use std::fmt;

use super::InvalidWorkspace;

/// Well below the Linux limit of 4096.
pub(super) const MAX_LENGTH: usize = 1024;

/// A path on the runner's machine: absolute, or relative to the runner's workspace directory.
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

/// Rejects a leading dash, which programs would read as an option, and `~`, which shells expand.
fn check(relative: &str) -> Result<(), InvalidWorkspace> {
    if relative.is_empty() || relative.len() > MAX_LENGTH || relative.chars().any(char::is_control) {
        return Err(InvalidWorkspace::PathLength);
    }
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let has_special_start = relative.starts_with(['-', '~']);
    if has_special_start || relative.contains('\\') || !relative.split('/').all(is_plain) {
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
    fn escaping_or_non_canonical_paths_are_rejected() {
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
        fn accepted_path_stays_inside_its_base_directory(text in "[a./~-]{0,12}") {
            if let Ok(path) = RelativePath::try_from(text) {
                let is_inside = std::path::Path::new(path.as_str())
                    .components()
                    .all(|part| matches!(part, std::path::Component::Normal(_)));
                prop_assert!(is_inside);
            }
        }
    }
}
