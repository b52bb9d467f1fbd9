//! The description of a sandbox, which the runner passes to the first stage as an argument. It contains no secret.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::limits::SandboxLimits;
use super::user::AgentUser;

/// A file or directory that is visible in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub source: PathBuf,
    pub target: PathBuf,
    pub access: MountAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountAccess {
    Read,
    Write,
}

/// The sandbox of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    pub bwrap: PathBuf,
    /// In this order: a later mount may be inside of an earlier one.
    pub mounts: Vec<Mount>,
    /// Files in the mounts that are replaced by an empty file, because they may hold a credential.
    pub masked: Vec<PathBuf>,
    /// The working directory.
    pub dir: PathBuf,
    pub has_proxy: bool,
    pub can_nest: bool,
    pub user: Option<AgentUser>,
    /// The cgroups to join.
    pub cgroups: Vec<PathBuf>,
    pub limits: SandboxLimits,
}
