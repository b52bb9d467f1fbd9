//! Workspaces of runs.

mod git;
mod path;
mod upload;
mod url;

pub use git::{Bundle, CommitId, GitRef, GitRevision, GitSource};
pub use path::{RelativePath, WorkspacePath};
pub use upload::{BUNDLE_PART_BYTES, BundleLimits, UploadedBundle};
pub use url::{RepoUrl, SshRepository};

/// The workspace of a run. It is required: a runner never chooses one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "WireWorkspace", into = "WireWorkspace")]
pub enum WorkspaceRef {
    /// A new, empty directory.
    Empty,
    /// An existing directory on the runner's machine.
    Directory { path: WorkspacePath },
    /// A private copy of a Git repository on the runner's machine: its working tree as it is, with the changes that are
    /// not committed and the untracked files that are not ignored.
    Copy { path: WorkspacePath },
    /// A Git checkout.
    Git { source: GitSource, revision: GitRevision },
    /// Some directories of a Git checkout, each copied to a path in the workspace.
    GitBundle { source: GitSource, revision: GitRevision, bundles: Vec<Bundle> },
    /// A Git bundle that the caller uploads: a repository with its working tree as it is.
    Bundle(UploadedBundle),
}

/// Why a workspace is invalid. URLs are not repeated, because they may contain a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWorkspace {
    #[error("invalid path: use 1 to {} visible characters", path::MAX_LENGTH)]
    PathLength,
    #[error("invalid path: no `..`, no `.`, no empty component, no backslash, and no leading dash or tilde")]
    PathForm,
    #[error("a path inside the workspace must be relative: remove the leading `/`")]
    PathAbsolute,
    #[error(
        "invalid repository URL: use {}, such as `https://host/path`, `ssh://git@host/path` or `git@host:path`",
        url::SCHEMES
    )]
    UrlForm,
    #[error("a repository URL must not contain a credential: name a secret in toolCredentials instead")]
    UrlCredential,
    #[error("invalid ref: use a branch or tag of 1 to {} letters, digits and `._/-`", git::MAX_REF_LENGTH)]
    Ref,
    #[error("invalid commit id: use all 40 or 64 lower-case hexadecimal digits")]
    Commit,
    #[error("`{0}` is not allowed for this kind of workspace: remove it")]
    Unexpected(&'static str),
    #[error("this kind of workspace requires `{0}`")]
    Missing(&'static str),
    #[error("use either `{0}` or `{1}`, not both")]
    MutuallyExclusive(&'static str, &'static str),
    #[error("invalid sizeBytes: use the size of the Git bundle")]
    BundleSize,
    #[error("invalid sha256: use 64 lower-case hexadecimal digits")]
    BundleDigest,
    #[error("a gitbundle workspace requires 1 to {} bundles", git::MAX_BUNDLES)]
    Bundles,
}

impl WorkspaceRef {
    /// Returns the path on the runner's machine, if the workspace has one.
    #[must_use]
    pub fn path(&self) -> Option<&WorkspacePath> {
        match self {
            Self::Directory { path }
            | Self::Copy { path }
            | Self::Git { source: GitSource::Path(path), .. }
            | Self::GitBundle { source: GitSource::Path(path), .. } => Some(path),
            Self::Empty
            | Self::Bundle(_)
            | Self::Git { source: GitSource::Url(_), .. }
            | Self::GitBundle { source: GitSource::Url(_), .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireKind {
    Empty,
    Directory,
    Copy,
    Git,
    GitBundle,
    Bundle,
}

/// The flat JSON form of a workspace.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WireWorkspace {
    kind: WireKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<WorkspacePath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repo_url: Option<RepoUrl>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    r#ref: Option<GitRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit_id: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bundles: Option<Vec<Bundle>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl WireWorkspace {
    const fn new(kind: WireKind) -> Self {
        Self {
            kind,
            path: None,
            repo_url: None,
            r#ref: None,
            commit_id: None,
            bundles: None,
            size_bytes: None,
            sha256: None,
        }
    }

    fn git(kind: WireKind, source: GitSource, revision: GitRevision) -> Self {
        let mut wire = Self::new(kind);
        match source {
            GitSource::Url(url) => wire.repo_url = Some(url),
            GitSource::Path(path) => wire.path = Some(path),
        }
        match revision {
            GitRevision::Default => {}
            GitRevision::Ref(name) => wire.r#ref = Some(name),
            GitRevision::Commit(id) => wire.commit_id = Some(id),
        }
        wire
    }

    fn source(&mut self) -> Result<GitSource, InvalidWorkspace> {
        match (self.repo_url.take(), self.path.take()) {
            (Some(url), None) => Ok(GitSource::Url(url)),
            (None, Some(path)) => Ok(GitSource::Path(path)),
            (None, None) => Err(InvalidWorkspace::Missing("repoUrl")),
            (Some(_), Some(_)) => Err(InvalidWorkspace::MutuallyExclusive("repoUrl", "path")),
        }
    }

    fn revision(&mut self) -> Result<GitRevision, InvalidWorkspace> {
        match (self.r#ref.take(), self.commit_id.take()) {
            (None, None) => Ok(GitRevision::Default),
            (Some(name), None) => Ok(GitRevision::Ref(name)),
            (None, Some(id)) => Ok(GitRevision::Commit(id)),
            (Some(_), Some(_)) => Err(InvalidWorkspace::MutuallyExclusive("ref", "commitId")),
        }
    }

    fn uploaded_bundle(&mut self) -> Result<UploadedBundle, InvalidWorkspace> {
        let size_bytes = self.size_bytes.take().ok_or(InvalidWorkspace::Missing("sizeBytes"))?;
        UploadedBundle::new(size_bytes, self.sha256.take().ok_or(InvalidWorkspace::Missing("sha256"))?)
    }

    /// Rejects unused fields: a field without effect is a mistake of the caller.
    fn check_unused(&self) -> Result<(), InvalidWorkspace> {
        let unused = [
            ("path", self.path.is_some()),
            ("repoUrl", self.repo_url.is_some()),
            ("ref", self.r#ref.is_some()),
            ("commitId", self.commit_id.is_some()),
            ("bundles", self.bundles.is_some()),
            ("sizeBytes", self.size_bytes.is_some()),
            ("sha256", self.sha256.is_some()),
        ];
        unused
            .iter()
            .find(|(_, is_set)| *is_set)
            .map_or(Ok(()), |(field, _)| Err(InvalidWorkspace::Unexpected(field)))
    }
}

impl TryFrom<WireWorkspace> for WorkspaceRef {
    type Error = InvalidWorkspace;

    fn try_from(mut wire: WireWorkspace) -> Result<Self, InvalidWorkspace> {
        let workspace = match wire.kind {
            WireKind::Empty => Self::Empty,
            WireKind::Directory => {
                Self::Directory { path: wire.path.take().ok_or(InvalidWorkspace::Missing("path"))? }
            }
            WireKind::Copy => Self::Copy { path: wire.path.take().ok_or(InvalidWorkspace::Missing("path"))? },
            WireKind::Git => Self::Git { source: wire.source()?, revision: wire.revision()? },
            WireKind::GitBundle => Self::GitBundle {
                source: wire.source()?,
                revision: wire.revision()?,
                bundles: git::check_bundles(wire.bundles.take().unwrap_or_default())?,
            },
            WireKind::Bundle => Self::Bundle(wire.uploaded_bundle()?),
        };
        wire.check_unused().map(|()| workspace)
    }
}

impl From<WorkspaceRef> for WireWorkspace {
    fn from(workspace: WorkspaceRef) -> Self {
        match workspace {
            WorkspaceRef::Empty => Self::new(WireKind::Empty),
            WorkspaceRef::Directory { path } => Self { path: Some(path), ..Self::new(WireKind::Directory) },
            WorkspaceRef::Copy { path } => Self { path: Some(path), ..Self::new(WireKind::Copy) },
            WorkspaceRef::Git { source, revision } => Self::git(WireKind::Git, source, revision),
            WorkspaceRef::GitBundle { source, revision, bundles } => {
                Self { bundles: Some(bundles), ..Self::git(WireKind::GitBundle, source, revision) }
            }
            WorkspaceRef::Bundle(bundle) => Self {
                size_bytes: Some(bundle.size_bytes()),
                sha256: Some(bundle.sha256().to_owned()),
                ..Self::new(WireKind::Bundle)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<WorkspaceRef, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    // covers: R4
    #[test]
    fn every_kind_round_trips_through_json() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for value in [
            json!({ "kind": "empty" }),
            json!({ "kind": "directory", "path": "/srv/work/one" }),
            json!({ "kind": "copy", "path": "/srv/repos/one" }),
            json!({ "kind": "git", "repoUrl": "https://git.example/a/b.git" }),
            json!({ "kind": "git", "path": "/srv/mirror/b.git", "ref": "feature/x-1" }),
            json!({ "kind": "git", "repoUrl": "ssh://git@git.example:2222/b", "commitId": commit }),
            json!({ "kind": "git", "repoUrl": "git@git.example:a/b.git" }),
            json!({
                "kind": "gitbundle", "repoUrl": "https://git.example/b", "ref": "main",
                "bundles": [{ "subpath": "skills/one", "targetPath": ".agents/one" }],
            }),
            json!({ "kind": "bundle", "sizeBytes": 1234, "sha256": "0a".repeat(32) }),
        ] {
            assert_eq!(read(value.clone()).map(|workspace| json!(workspace)), Ok(value));
        }
    }

    #[test]
    fn incompatible_fields_are_rejected_by_name() {
        let url = "https://git.example/b";
        for (value, expected) in [
            (json!({ "kind": "empty", "path": "a" }), InvalidWorkspace::Unexpected("path")),
            (json!({ "kind": "directory" }), InvalidWorkspace::Missing("path")),
            (json!({ "kind": "directory", "path": "a", "ref": "main" }), InvalidWorkspace::Unexpected("ref")),
            (json!({ "kind": "copy" }), InvalidWorkspace::Missing("path")),
            (json!({ "kind": "copy", "path": "a", "ref": "main" }), InvalidWorkspace::Unexpected("ref")),
            (json!({ "kind": "git" }), InvalidWorkspace::Missing("repoUrl")),
            (
                json!({ "kind": "git", "repoUrl": url, "path": "a" }),
                InvalidWorkspace::MutuallyExclusive("repoUrl", "path"),
            ),
            (
                json!({ "kind": "git", "repoUrl": url, "bundles": [] }),
                InvalidWorkspace::Unexpected("bundles"),
            ),
            (json!({ "kind": "gitbundle", "repoUrl": url }), InvalidWorkspace::Bundles),
            (json!({ "kind": "bundle", "sizeBytes": 1 }), InvalidWorkspace::Missing("sha256")),
            (
                json!({ "kind": "copy", "path": "a", "sizeBytes": 1 }),
                InvalidWorkspace::Unexpected("sizeBytes"),
            ),
        ] {
            assert_eq!(read(value), Err(expected.to_string()));
        }
        for unknown in
            [json!({}), json!({ "kind": "s3" }), json!({ "kind": "empty", "mount": "/" }), json!("empty")]
        {
            assert!(read(unknown).is_err());
        }
    }
}
