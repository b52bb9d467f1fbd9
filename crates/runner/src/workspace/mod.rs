//! The folder that an agent works in, prepared from what the run refers to.
//!
//! An empty workspace or a checkout is made once for a session and found again by its next run. A folder or a repository of
//! this machine is used only below a place that the operator named (`--workspace-root`): the server has an allow-list of its
//! own, but whose machine it is decides last.

mod changes;
mod copy;
mod git;
mod place;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::{GitSource, WorkspacePath, WorkspaceRef};
use serde_json::Value;
use tokio::fs;

pub(crate) use changes::{Snapshot, events};

/// Why there is no workspace. Nothing that a caller wrote is repeated but the kind.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("this runner cannot prepare a workspace of kind `{0}`")]
    Unable(String),
    #[error("the workspace's folder is not there, or not below a --workspace-root of this runner")]
    Outside,
    #[error("the repository cannot be used: {0}")]
    Repository(&'static str),
    #[error("git could not {0}")]
    Git(&'static str),
    #[error("git did not {0} in time")]
    Slow(&'static str),
    #[error("a part of the repository is not there, or leads out of it")]
    Part,
    #[error("cannot prepare the workspace")]
    Io(#[from] std::io::Error),
}

/// Where workspaces are made, and which places of this machine they may come from.
#[derive(Debug, Clone)]
pub struct Places {
    /// Made workspaces stand here, by session.
    pub made: PathBuf,
    /// What a run may name: folders below these.
    pub roots: Vec<PathBuf>,
}

/// Prepares the workspace of a session.
pub async fn prepare(places: &Places, session: &str, reference: &Value) -> Result<PathBuf, WorkspaceError> {
    let unable = || {
        let kind = reference.get("kind").and_then(Value::as_str).unwrap_or_default();
        let is_word = kind.len() <= 20 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        WorkspaceError::Unable(if is_word { kind } else { "unknown" }.to_owned())
    };
    // Checked again here: the server may be newer, older, or not the one that we believe.
    let reference: WorkspaceRef = serde_json::from_value(reference.clone()).map_err(|_| unable())?;
    let folder = places.made.join(session);
    match reference {
        WorkspaceRef::Empty => {
            fs::create_dir_all(&folder).await?;
            Ok(folder)
        }
        WorkspaceRef::Directory { path } => place::folder(&places.roots, &path),
        WorkspaceRef::Git { source: GitSource::Path(path), at } => {
            let source = place::repository(&places.roots, &path)?;
            once(&folder, async |fresh| git::check_out(&source, &at, fresh).await).await
        }
        WorkspaceRef::GitBundle { source: GitSource::Path(path), at, bundles } => {
            let source = place::repository(&places.roots, &path)?;
            once(&folder, async |fresh| {
                let checkout = fresh.with_extension("checkout");
                clear(&checkout).await?;
                let taken = async {
                    git::check_out(&source, &at, &checkout).await?;
                    fs::create_dir_all(fresh).await?;
                    copy::parts(&checkout, &bundles, fresh).await
                };
                let taken = taken.await;
                clear(&checkout).await?;
                taken
            })
            .await
        }
        // Fetching from elsewhere needs credentials and a way out, which a runner does not have yet.
        WorkspaceRef::Git { source: GitSource::Url(_), .. }
        | WorkspaceRef::GitBundle { source: GitSource::Url(_), .. } => Err(unable()),
    }
}

/// Makes a folder whole or not at all: beside its place first, then in one step. One that is there is what an earlier run
/// of the session left, and stays as it is.
async fn once(
    folder: &Path,
    make: impl AsyncFnOnce(&Path) -> Result<(), WorkspaceError>,
) -> Result<PathBuf, WorkspaceError> {
    if fs::try_exists(folder).await? {
        return Ok(folder.to_owned());
    }
    let fresh = folder.with_extension("new");
    clear(&fresh).await?;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).await?;
    }
    match make(&fresh).await {
        Ok(()) => {
            fs::rename(&fresh, folder).await?;
            Ok(folder.to_owned())
        }
        Err(error) => {
            clear(&fresh).await?;
            Err(error)
        }
    }
}

/// Removes what a runner that was killed left half-made.
async fn clear(folder: &Path) -> Result<(), WorkspaceError> {
    match fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Names the path as a run does, for the places' own checks.
fn named(roots: &[PathBuf], path: &WorkspacePath) -> Option<PathBuf> {
    let path = Path::new(path.as_str());
    if path.is_absolute() { Some(path.to_owned()) } else { Some(roots.first()?.join(path)) }
}
