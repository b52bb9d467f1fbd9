//! What a run works on.

mod git;
mod path;
mod url;

pub use git::{Bundle, CommitId, GitPoint, GitRef, GitSource};
pub use path::{RelativePath, WorkspacePath};
pub use url::RepoUrl;

/// The workspace of a run. It must be said: a runner never guesses it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub enum WorkspaceRef {
    /// A new, empty folder.
    Empty,
    /// A folder that is there already, on the runner's machine.
    Directory { path: WorkspacePath },
    /// A checkout.
    Git { source: GitSource, at: GitPoint },
    /// Some folders of a checkout, each put somewhere in the workspace.
    GitBundle { source: GitSource, at: GitPoint, bundles: Vec<Bundle> },
}

/// Why something is no workspace. Addresses are not repeated: they may carry a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWorkspace {
    #[error("a path has 1 to {} visible characters", path::MAX_LENGTH)]
    PathLength,
    #[error("a path is written plainly: no `..`, no `.`, no empty part, no backslash, and no dash in front")]
    PathForm,
    #[error("a path inside the workspace is relative: leave out the first `/`")]
    PathAbsolute,
    #[error("a repository is an address of {}: `https://host/path` or `ssh://git@host/path`", url::SCHEMES)]
    UrlForm,
    #[error("an address cannot carry a credential: name a secret in toolCredentials instead")]
    UrlCredential,
    #[error("a ref is a branch or tag of 1 to {} letters, digits and `._/-`", git::MAX_REF_LENGTH)]
    Ref,
    #[error("a commit id has all its 40 or 64 lower-case hexadecimal digits")]
    Commit,
    #[error("`{0}` does not go with this kind of workspace: leave it out")]
    Unexpected(&'static str),
    #[error("this kind of workspace needs `{0}`")]
    Missing(&'static str),
    #[error("use either `{0}` or `{1}`")]
    Both(&'static str, &'static str),
    #[error("a bundle workspace has 1 to {} bundles", git::MAX_BUNDLES)]
    Bundles,
}

impl WorkspaceRef {
    /// Returns the path on the runner's machine that the workspace names, if it names one.
    #[must_use]
    pub fn path(&self) -> Option<&WorkspacePath> {
        match self {
            Self::Directory { path }
            | Self::Git { source: GitSource::Path(path), .. }
            | Self::GitBundle { source: GitSource::Path(path), .. } => Some(path),
            Self::Empty
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
    Git,
    GitBundle,
}

/// The workspace as it is written: flat, so that a reader sees all fields at once.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wire {
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
}

impl Wire {
    const fn new(kind: WireKind) -> Self {
        Self { kind, path: None, repo_url: None, r#ref: None, commit_id: None, bundles: None }
    }

    fn git(kind: WireKind, source: GitSource, at: GitPoint) -> Self {
        let mut wire = Self::new(kind);
        match source {
            GitSource::Url(url) => wire.repo_url = Some(url),
            GitSource::Path(path) => wire.path = Some(path),
        }
        match at {
            GitPoint::Default => {}
            GitPoint::Ref(name) => wire.r#ref = Some(name),
            GitPoint::Commit(id) => wire.commit_id = Some(id),
        }
        wire
    }

    fn source(&mut self) -> Result<GitSource, InvalidWorkspace> {
        match (self.repo_url.take(), self.path.take()) {
            (Some(url), None) => Ok(GitSource::Url(url)),
            (None, Some(path)) => Ok(GitSource::Path(path)),
            (None, None) => Err(InvalidWorkspace::Missing("repoUrl")),
            (Some(_), Some(_)) => Err(InvalidWorkspace::Both("repoUrl", "path")),
        }
    }

    fn point(&mut self) -> Result<GitPoint, InvalidWorkspace> {
        match (self.r#ref.take(), self.commit_id.take()) {
            (None, None) => Ok(GitPoint::Default),
            (Some(name), None) => Ok(GitPoint::Ref(name)),
            (None, Some(id)) => Ok(GitPoint::Commit(id)),
            (Some(_), Some(_)) => Err(InvalidWorkspace::Both("ref", "commitId")),
        }
    }

    /// Refuses what was not taken: a field without effect is a misunderstanding.
    fn nothing_left(&self) -> Result<(), InvalidWorkspace> {
        let left = [
            ("path", self.path.is_some()),
            ("repoUrl", self.repo_url.is_some()),
            ("ref", self.r#ref.is_some()),
            ("commitId", self.commit_id.is_some()),
            ("bundles", self.bundles.is_some()),
        ];
        left.iter()
            .find(|(_, there)| *there)
            .map_or(Ok(()), |(field, _)| Err(InvalidWorkspace::Unexpected(field)))
    }
}

impl TryFrom<Wire> for WorkspaceRef {
    type Error = InvalidWorkspace;

    fn try_from(mut wire: Wire) -> Result<Self, InvalidWorkspace> {
        let workspace = match wire.kind {
            WireKind::Empty => Self::Empty,
            WireKind::Directory => {
                Self::Directory { path: wire.path.take().ok_or(InvalidWorkspace::Missing("path"))? }
            }
            WireKind::Git => Self::Git { source: wire.source()?, at: wire.point()? },
            WireKind::GitBundle => Self::GitBundle {
                source: wire.source()?,
                at: wire.point()?,
                bundles: git::bundles(wire.bundles.take().unwrap_or_default())?,
            },
        };
        wire.nothing_left().map(|()| workspace)
    }
}

impl From<WorkspaceRef> for Wire {
    fn from(workspace: WorkspaceRef) -> Self {
        match workspace {
            WorkspaceRef::Empty => Self::new(WireKind::Empty),
            WorkspaceRef::Directory { path } => Self { path: Some(path), ..Self::new(WireKind::Directory) },
            WorkspaceRef::Git { source, at } => Self::git(WireKind::Git, source, at),
            WorkspaceRef::GitBundle { source, at, bundles } => {
                Self { bundles: Some(bundles), ..Self::git(WireKind::GitBundle, source, at) }
            }
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
    fn every_kind_is_written_as_it_was_read() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for written in [
            json!({ "kind": "empty" }),
            json!({ "kind": "directory", "path": "/srv/work/one" }),
            json!({ "kind": "git", "repoUrl": "https://git.example/a/b.git" }),
            json!({ "kind": "git", "path": "/srv/mirror/b.git", "ref": "feature/x-1" }),
            json!({ "kind": "git", "repoUrl": "ssh://git@git.example:2222/b", "commitId": commit }),
            json!({
                "kind": "gitbundle", "repoUrl": "https://git.example/b", "ref": "main",
                "bundles": [{ "subpath": "skills/one", "targetPath": ".agents/one" }],
            }),
        ] {
            assert_eq!(read(written.clone()).map(|workspace| json!(workspace)), Ok(written));
        }
    }

    #[test]
    fn fields_that_do_not_go_together_are_refused_by_name() {
        let url = "https://git.example/b";
        for (value, expected) in [
            (json!({ "kind": "empty", "path": "a" }), InvalidWorkspace::Unexpected("path")),
            (json!({ "kind": "directory" }), InvalidWorkspace::Missing("path")),
            (json!({ "kind": "directory", "path": "a", "ref": "main" }), InvalidWorkspace::Unexpected("ref")),
            (json!({ "kind": "git" }), InvalidWorkspace::Missing("repoUrl")),
            (
                json!({ "kind": "git", "repoUrl": url, "path": "a" }),
                InvalidWorkspace::Both("repoUrl", "path"),
            ),
            (
                json!({ "kind": "git", "repoUrl": url, "bundles": [] }),
                InvalidWorkspace::Unexpected("bundles"),
            ),
            (json!({ "kind": "gitbundle", "repoUrl": url }), InvalidWorkspace::Bundles),
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
