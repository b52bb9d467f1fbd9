//! Clones repositories of this machine.

use std::ffi::OsStr;
use std::path::Path;

use guildhall_domain::runs::policy::GitRevision;

use super::baseline::Baseline;
use super::error::WorkspaceError;
use super::git_command::{GitCommand, GitNetwork};
use crate::sandbox::{Containment, create_dir};

/// Clones a repository or bundle file into a new directory, at a branch, tag or commit.
pub(super) async fn clone_at(
    containment: &Containment,
    source: &Path,
    at: &GitRevision,
    into: &Path,
) -> Result<(), WorkspaceError> {
    let git = match at {
        GitRevision::Default => clone(containment, source, into, &[]).await?,
        // Its type excludes options and ranges.
        GitRevision::Ref(name) => clone(containment, source, into, &["--branch", name.as_str()]).await?,
        GitRevision::Commit(_) => clone(containment, source, into, &["--no-checkout"]).await?,
    };
    match at {
        GitRevision::Commit(id) => {
            git.run(&["checkout", "--quiet", "--detach", id.as_str(), "--"], "check out the commit").await
        }
        GitRevision::Default | GitRevision::Ref(_) => Ok(()),
    }
}

/// Copies a repository with its working tree as it is: with the changes that are not committed, and the untracked files
/// that are not ignored. Records the files as the baseline of the workspace.
pub(super) async fn copy_working_tree(
    containment: &Containment,
    source: &Path,
    into: &Path,
    baseline: &Path,
) -> Result<(), WorkspaceError> {
    let git = clone(containment, source, into, &["--no-checkout"]).await?;
    let baseline = Baseline::create(containment, baseline, Some(source)).await?;
    baseline.record(source, head_of(&git).await?.as_deref()).await?;
    baseline.check_out(into).await?;
    reset_index(&git).await
}

/// Clones a bundle file, without its files.
pub(super) async fn clone_bundle<'a>(
    containment: &'a Containment,
    bundle: &Path,
    into: &Path,
) -> Result<GitCommand<'a>, WorkspaceError> {
    clone(containment, bundle, into, &["--no-checkout"]).await
}

/// Sets the index to the commit of the clone, so that other files count as changes. A repository without commits has none.
pub(super) async fn reset_index(git: &GitCommand<'_>) -> Result<(), WorkspaceError> {
    match head_of(git).await? {
        Some(head) => git.run(&["read-tree", &head], "read the commit").await,
        None => Ok(()),
    }
}

async fn head_of(git: &GitCommand<'_>) -> Result<Option<String>, WorkspaceError> {
    let head = git.output(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], "find HEAD", 100).await?;
    Ok(head.map(|id| String::from_utf8_lossy(&id).trim().to_owned()))
}

/// Clones a repository. Objects are copied: the clone shares no file with its source, so an agent cannot damage the
/// source through it. Returns git for the clone.
async fn clone<'a>(
    containment: &'a Containment,
    source: &Path,
    into: &Path,
    options: &[&str],
) -> Result<GitCommand<'a>, WorkspaceError> {
    create_dir(into, containment.program_user())?;
    let git = GitCommand {
        containment,
        readable: vec![source.to_owned()],
        writable: vec![into.to_owned()],
        environment: Vec::new(),
        config: Vec::new(),
        network: GitNetwork::None,
    };
    let mut clone: Vec<&OsStr> =
        ["clone", "--quiet", "--no-local", "--no-hardlinks", "--no-recurse-submodules", "--template="]
            .map(OsStr::new)
            .to_vec();
    clone.extend(options.iter().map(OsStr::new));
    clone.extend([OsStr::new("--"), source.as_os_str(), into.as_os_str()]);
    git.run(&clone, "clone the repository").await?;
    // Without the remote, an agent cannot push into the operator's repository by accident.
    git.run(&["remote", "remove", "origin"], "remove the remote").await?;
    Ok(git)
}
