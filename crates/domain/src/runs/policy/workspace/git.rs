//! Sources and revisions of Git workspaces.

use super::InvalidWorkspace;
use super::path::{RelativePath, WorkspacePath};
use super::url::RepoUrl;

pub(super) const MAX_REF_LENGTH: usize = 200;

/// The runner copies each bundle before the first turn.
pub(super) const MAX_BUNDLES: usize = 32;

/// A repository: a URL, or a path on the runner's machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitSource {
    Url(RepoUrl),
    Path(WorkspacePath),
}

/// A revision of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRevision {
    /// The head of the default branch at the time of the checkout.
    Default,
    Ref(GitRef),
    Commit(CommitId),
}

/// A branch or tag.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GitRef(String);

/// A full commit id. A short id can become ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

/// A directory of a repository and its path in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bundle {
    pub subpath: RelativePath,
    pub target_path: RelativePath,
}

pub(super) fn check_bundles(bundles: Vec<Bundle>) -> Result<Vec<Bundle>, InvalidWorkspace> {
    if (1..=MAX_BUNDLES).contains(&bundles.len()) { Ok(bundles) } else { Err(InvalidWorkspace::Bundles) }
}

impl GitRef {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl CommitId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for GitRef {
    type Error = InvalidWorkspace;

    fn try_from(text: String) -> Result<Self, InvalidWorkspace> {
        // Stricter than git: no component starts with a dot or dash, and no character is special in a revision.
        let is_valid_part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && !part.ends_with('.')
        };
        let is_valid = (1..=MAX_REF_LENGTH).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/-".contains(&b))
            && text.split('/').all(is_valid_part)
            && !text.contains("..");
        if is_valid { Ok(Self(text)) } else { Err(InvalidWorkspace::Ref) }
    }
}

impl TryFrom<String> for CommitId {
    type Error = InvalidWorkspace;

    fn try_from(text: String) -> Result<Self, InvalidWorkspace> {
        let digits = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if matches!(text.len(), 40 | 64) && digits { Ok(Self(text)) } else { Err(InvalidWorkspace::Commit) }
    }
}

impl From<GitRef> for String {
    fn from(name: GitRef) -> Self {
        name.0
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_with_special_meaning_in_git_is_rejected() {
        for text in
            ["", "--upload-pack=x", "a..b", "a^", "a~1", "a@{1}", "a b", "a:b", "/a", "a/", "a/.b", "a.", "é"]
        {
            assert_eq!(GitRef::try_from(text.to_owned()), Err(InvalidWorkspace::Ref), "{text}");
        }
        assert!(GitRef::try_from("release/v1.2.3_rc-1".to_owned()).is_ok());
    }

    #[test]
    fn commit_id_must_be_complete() {
        for text in ["", "abc1234", &"A".repeat(40), &"a".repeat(41), &"g".repeat(64)] {
            assert_eq!(CommitId::try_from(text.to_owned()), Err(InvalidWorkspace::Commit), "{text}");
        }
        assert!(CommitId::try_from("a".repeat(40)).is_ok() && CommitId::try_from("0".repeat(64)).is_ok());
    }
}
