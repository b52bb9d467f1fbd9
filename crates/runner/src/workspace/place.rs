//! Places of this machine that a run may name: below a root of the operator's, whatever links say.

use std::path::PathBuf;

use guildhall_domain::runs::policy::WorkspacePath;

use super::{WorkspaceError, named};

/// Finds a folder that a run may work in. A relative path begins at the first root.
pub(super) fn folder(roots: &[PathBuf], path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let found = inside(roots, path)?;
    if found.is_dir() { Ok(found) } else { Err(WorkspaceError::Outside) }
}

/// Finds a repository, or the file of a bundle.
pub(super) fn repository(roots: &[PathBuf], path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let found = inside(roots, path)?;
    for objects in ["objects", ".git/objects"] {
        // A repository that borrows its objects would hand out those of another.
        if found.join(objects).join("info/alternates").exists() {
            return Err(WorkspaceError::Repository("it borrows objects from another"));
        }
    }
    // A checkout whose `.git` is a file, or a link, has its repository somewhere else.
    match std::fs::symlink_metadata(found.join(".git")) {
        Ok(git) if !git.is_dir() => Err(WorkspaceError::Repository("it is a part of another")),
        Ok(_) | Err(_) => Ok(found),
    }
}

/// Follows every link first and looks then: what it leads to must be below a root.
fn inside(roots: &[PathBuf], path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let named = named(roots, path).ok_or(WorkspaceError::Outside)?;
    // That it does not exist and that it is not for this run are the same to whoever asks.
    let found = named.canonicalize().map_err(|_| WorkspaceError::Outside)?;
    let is_below = |root: &PathBuf| root.canonicalize().is_ok_and(|root| found.starts_with(root));
    if roots.iter().any(is_below) { Ok(found) } else { Err(WorkspaceError::Outside) }
}
