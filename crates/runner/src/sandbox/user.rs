//! The user that agents run as.
//!
//! A runner that is root never starts an agent as root: inside of a user namespace the files of root would still be
//! accessible. The agent runs as the owner of its workspace, or as an unprivileged user without an account.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

/// An unprivileged user of this machine. It need not have an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUser {
    pub uid: u32,
    pub gid: u32,
}

impl Default for AgentUser {
    /// A number that no distribution assigns.
    fn default() -> Self {
        Self { uid: 64117, gid: 64117 }
    }
}

/// Why no user can work in a directory.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    #[error(
        "the workspace belongs to root, and agents never run as root: change its owner, or run the runner as its owner"
    )]
    WorkspaceOfRoot,
    #[error("cannot read the owner of the workspace")]
    Io(#[from] io::Error),
}

impl AgentUser {
    /// Returns the user that works in a directory; `None` is the user of this process, if that is not root.
    pub fn for_workspace(workspace: &Path) -> Result<Option<Self>, UserError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        match owner(&fs::metadata(workspace)?) {
            Self { uid: 0, .. } => Err(UserError::WorkspaceOfRoot),
            user => Ok(Some(user)),
        }
    }
}

fn owner(metadata: &Metadata) -> AgentUser {
    AgentUser { uid: metadata.uid(), gid: metadata.gid() }
}

/// Changes the owner of a directory that this process made, with everything in it, if this process is root. Symbolic
/// links are not followed.
pub fn give_to_agent(dir: &Path, user: AgentUser) -> io::Result<()> {
    if !geteuid().is_root() || owner(&fs::symlink_metadata(dir)?) == user {
        return Ok(());
    }
    change_owner(dir, user)
}

/// The directory itself comes last, so that an interrupted change is repeated.
fn change_owner(path: &Path, user: AgentUser) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            change_owner(&entry?.path(), user)?;
        }
    }
    lchown(path, Some(user.uid), Some(user.gid))
}
