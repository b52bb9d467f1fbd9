//! Paths of this machine that a run may name: below a root that the operator allowed, after resolving symbolic links.

use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::WorkspacePath;

use super::error::WorkspaceError;

/// Resolves a directory that a run may work in. A relative path starts at the first root.
pub(super) fn resolve_dir(roots: &[PathBuf], path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let resolved = resolve(roots, path)?;
    if resolved.is_dir() { Ok(resolved) } else { Err(WorkspaceError::NotAllowed) }
}

/// Resolves a repository or a bundle file.
pub(super) fn resolve_repository(roots: &[PathBuf], path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let resolved = resolve(roots, path)?;
    for objects in ["objects", ".git/objects"] {
        // Alternates would expose the objects of another repository.
        if resolved.join(objects).join("info/alternates").exists() {
            return Err(WorkspaceError::InvalidRepository(
                "it uses objects of another repository (alternates)",
            ));
        }
    }
    // A `.git` file or symbolic link points to a repository elsewhere.
    match std::fs::symlink_metadata(resolved.join(".git")) {
        Ok(git) if !git.is_dir() => {
            Err(WorkspaceError::InvalidRepository("its .git is not a directory (worktree or submodule)"))
        }
        Ok(_) | Err(_) => Ok(resolved),
    }
}

/// Resolves symbolic links first, then checks that the result is below a root.
fn resolve(roots: &[PathBuf], path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let requested = requested_path(roots, path).ok_or(WorkspaceError::NotAllowed)?;
    // A missing path and a forbidden one give the same error, so that a run cannot probe for files.
    let resolved = requested.canonicalize().map_err(|_| WorkspaceError::NotAllowed)?;
    let is_below = |root: &PathBuf| root.canonicalize().is_ok_and(|root| resolved.starts_with(root));
    if roots.iter().any(is_below) { Ok(resolved) } else { Err(WorkspaceError::NotAllowed) }
}

fn requested_path(roots: &[PathBuf], path: &WorkspacePath) -> Option<PathBuf> {
    let path = Path::new(path.as_str());
    if path.is_absolute() { Some(path.to_owned()) } else { Some(roots.first()?.join(path)) }
}
