//! Paths of this machine that a run may name: below a root that the operator allowed, and within the directories of the
//! tenant, after resolving symbolic links.

use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::WorkspacePath;

use super::WorkspaceDirs;
use super::error::WorkspaceError;

/// Resolves a directory that a run may work in. A relative path starts at the first root.
pub(super) fn resolve_dir(dirs: &WorkspaceDirs, path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let resolved = resolve(dirs, path)?;
    if resolved.is_dir() { Ok(resolved) } else { Err(WorkspaceError::NotAllowed) }
}

/// Resolves a repository or a bundle file.
pub(super) fn resolve_repository(
    dirs: &WorkspaceDirs,
    path: &WorkspacePath,
) -> Result<PathBuf, WorkspaceError> {
    let resolved = resolve(dirs, path)?;
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

/// Resolves a repository with a working tree.
pub(super) fn resolve_working_tree(
    dirs: &WorkspaceDirs,
    path: &WorkspacePath,
) -> Result<PathBuf, WorkspaceError> {
    let resolved = resolve_repository(dirs, path)?;
    if resolved.join(".git").is_dir() {
        Ok(resolved)
    } else {
        Err(WorkspaceError::InvalidRepository("it is not the top directory of a Git repository"))
    }
}

/// Resolves symbolic links first, then checks that the result is below a root, and that the tenant may use it.
fn resolve(dirs: &WorkspaceDirs, path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
    let roots = &dirs.allowed_roots;
    let requested = requested_path(roots, Path::new(path.as_str())).ok_or(WorkspaceError::NotAllowed)?;
    // A missing path and a forbidden one give the same error, so that a run cannot probe for files.
    let resolved = requested.canonicalize().map_err(|_| WorkspaceError::NotAllowed)?;
    let is_below = |root: &PathBuf| root.canonicalize().is_ok_and(|root| resolved.starts_with(root));
    if !roots.iter().any(is_below) {
        return Err(WorkspaceError::NotAllowed);
    }
    let is_allowed = |pattern: &String| matches_pattern(roots, pattern, &resolved);
    if dirs.tenant_patterns.as_ref().is_none_or(|patterns| patterns.iter().any(is_allowed)) {
        Ok(resolved)
    } else {
        Err(WorkspaceError::TenantDenied)
    }
}

/// Returns whether a resolved path matches a pattern of the tenant: a path, `*`, or a prefix followed by `*`. The directory
/// in the pattern is resolved too. A pattern whose directory does not exist matches nothing.
fn matches_pattern(roots: &[PathBuf], pattern: &str, resolved: &Path) -> bool {
    if pattern == "*" {
        return true;
    }
    let resolve = |path: &str| requested_path(roots, Path::new(path))?.canonicalize().ok();
    let Some(prefix) = pattern.strip_suffix('*') else {
        return resolve(pattern).is_some_and(|exact| exact == resolved);
    };
    // `/srv/acme/te*`: names in `/srv/acme` that start with `te`, and everything below them.
    let (dir, name_start) = match prefix.rsplit_once('/') {
        Some(("", name_start)) => ("/", name_start),
        Some((dir, name_start)) => (dir, name_start),
        None => (".", prefix),
    };
    let Some(dir) = resolve(dir) else { return false };
    let below = resolved.strip_prefix(dir).ok().and_then(|below| below.components().next());
    below.is_some_and(|name| name.as_os_str().as_encoded_bytes().starts_with(name_start.as_bytes()))
}

fn requested_path(roots: &[PathBuf], path: &Path) -> Option<PathBuf> {
    if path.is_absolute() { Some(path.to_owned()) } else { Some(roots.first()?.join(path)) }
}
