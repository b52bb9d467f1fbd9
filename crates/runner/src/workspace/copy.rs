//! Copies parts of a checkout into the workspace. Symbolic links are copied as links and never followed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::Bundle;

use super::error::WorkspaceError;

/// Files and directories in a workspace.
const MAX_ENTRIES: usize = 200_000;

/// Nesting of directories.
const MAX_DEPTH: usize = 64;

/// Copies bundles on a blocking thread.
pub(super) async fn copy_bundles(
    checkout: &Path,
    bundles: &[Bundle],
    into: &Path,
) -> Result<(), WorkspaceError> {
    let (checkout, bundles, into) = (checkout.to_owned(), bundles.to_vec(), into.to_owned());
    let task = tokio::task::spawn_blocking(move || {
        let mut budget = MAX_ENTRIES;
        for bundle in &bundles {
            let from = source_path(&checkout, bundle.subpath.as_str())?;
            let to = target_path(&into, bundle.target_path.as_str())?;
            copy(&from, &to, 0, &mut budget)?;
        }
        Ok(())
    });
    task.await.map_err(std::io::Error::other)?
}

/// Resolves a path in the checkout. No component may be a symbolic link or `.git`.
fn source_path(checkout: &Path, subpath: &str) -> Result<PathBuf, WorkspaceError> {
    let mut path = checkout.to_owned();
    for component in subpath.split('/') {
        path.push(component);
        let metadata = fs::symlink_metadata(&path).map_err(|_| WorkspaceError::InvalidBundlePath)?;
        if metadata.is_symlink() || component.eq_ignore_ascii_case(".git") {
            return Err(WorkspaceError::InvalidBundlePath);
        }
    }
    Ok(path)
}

/// Creates the parent directories of a target. An earlier bundle may have put a link there that leads out, so each
/// component is checked.
fn target_path(into: &Path, target: &str) -> Result<PathBuf, WorkspaceError> {
    let mut path = into.to_owned();
    let mut components = target.split('/').peekable();
    while let Some(component) = components.next() {
        path.push(component);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if !metadata.is_dir() => return Err(WorkspaceError::InvalidBundlePath),
            Ok(_) => {}
            Err(_) if components.peek().is_some() => fs::create_dir(&path)?,
            Err(_) => {}
        }
    }
    Ok(path)
}

fn copy(from: &Path, to: &Path, depth: usize, budget: &mut usize) -> Result<(), WorkspaceError> {
    *budget = budget.checked_sub(1).ok_or(WorkspaceError::InvalidRepository("it has too many files"))?;
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_symlink() {
        if fs::symlink_metadata(to).is_ok() {
            return Err(WorkspaceError::InvalidBundlePath);
        }
        return Ok(symlink(fs::read_link(from)?, to)?);
    }
    if metadata.is_file() {
        // An existing link would be followed.
        if fs::symlink_metadata(to).is_ok_and(|existing| !existing.is_file()) {
            return Err(WorkspaceError::InvalidBundlePath);
        }
        fs::copy(from, to)?;
        return Ok(());
    }
    if depth >= MAX_DEPTH {
        return Err(WorkspaceError::InvalidRepository("its directories are nested too deeply"));
    }
    match fs::symlink_metadata(to) {
        Ok(existing) if existing.is_dir() => {}
        Ok(_) => return Err(WorkspaceError::InvalidBundlePath),
        Err(_) => fs::create_dir(to)?,
    }
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name), depth + 1, budget)?;
    }
    Ok(())
}
