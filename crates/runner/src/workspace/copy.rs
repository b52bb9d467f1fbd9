//! Parts of a checkout, each put somewhere in the workspace. Links are copied as links and never followed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use guildhall_domain::runs::policy::Bundle;

use super::WorkspaceError;

/// Files and folders that a workspace is made of.
const ENTRIES_AT_MOST: usize = 200_000;

/// Folders within folders.
const DEPTH_AT_MOST: usize = 64;

/// Copies parts, on a thread that may wait for a disk.
pub(super) async fn parts(checkout: &Path, bundles: &[Bundle], into: &Path) -> Result<(), WorkspaceError> {
    let (checkout, bundles, into) = (checkout.to_owned(), bundles.to_vec(), into.to_owned());
    let copying = tokio::task::spawn_blocking(move || {
        let mut left = ENTRIES_AT_MOST;
        for bundle in &bundles {
            let from = part(&checkout, bundle.subpath.as_str())?;
            let to = target(&into, bundle.target_path.as_str())?;
            copy(&from, &to, 0, &mut left)?;
        }
        Ok(())
    });
    copying.await.map_err(std::io::Error::other)?
}

/// Finds a part of the checkout, step by step: none of the steps may be a link, or git's own folder.
fn part(checkout: &Path, subpath: &str) -> Result<PathBuf, WorkspaceError> {
    let mut at = checkout.to_owned();
    for step in subpath.split('/') {
        at.push(step);
        let found = fs::symlink_metadata(&at).map_err(|_| WorkspaceError::Part)?;
        if found.is_symlink() || step.eq_ignore_ascii_case(".git") {
            return Err(WorkspaceError::Part);
        }
    }
    Ok(at)
}

/// Makes the way to a target: what an earlier part put there may be a link that leads out.
fn target(into: &Path, path: &str) -> Result<PathBuf, WorkspaceError> {
    let mut at = into.to_owned();
    let mut steps = path.split('/').peekable();
    while let Some(step) = steps.next() {
        at.push(step);
        match fs::symlink_metadata(&at) {
            Ok(found) if !found.is_dir() => return Err(WorkspaceError::Part),
            Ok(_) => {}
            Err(_) if steps.peek().is_some() => fs::create_dir(&at)?,
            Err(_) => {}
        }
    }
    Ok(at)
}

fn copy(from: &Path, to: &Path, depth: usize, left: &mut usize) -> Result<(), WorkspaceError> {
    *left = left.checked_sub(1).ok_or(WorkspaceError::Repository("it has too many files"))?;
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        if fs::symlink_metadata(to).is_ok() {
            return Err(WorkspaceError::Part);
        }
        return Ok(symlink(fs::read_link(from)?, to)?);
    }
    if found.is_file() {
        // A link in the way would be followed.
        if fs::symlink_metadata(to).is_ok_and(|there| !there.is_file()) {
            return Err(WorkspaceError::Part);
        }
        fs::copy(from, to)?;
        return Ok(());
    }
    if depth >= DEPTH_AT_MOST {
        return Err(WorkspaceError::Repository("its folders are too deep"));
    }
    match fs::symlink_metadata(to) {
        Ok(there) if there.is_dir() => {}
        Ok(_) => return Err(WorkspaceError::Part),
        Err(_) => fs::create_dir(to)?,
    }
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name), depth + 1, left)?;
    }
    Ok(())
}
