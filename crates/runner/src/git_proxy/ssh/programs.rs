//! The programs of OpenSSH.

use std::path::PathBuf;

use super::super::failure::FetchFailure;
use crate::sandbox::find_system_program;

#[derive(Debug)]
pub(super) struct SshPrograms {
    pub(super) ssh: PathBuf,
    pub(super) agent: PathBuf,
    pub(super) add: PathBuf,
}

impl SshPrograms {
    /// Finds the programs in the directories of the system.
    pub(super) fn find() -> Result<Self, FetchFailure> {
        let find = |name| find_system_program(name).ok_or(FetchFailure::NoSsh);
        Ok(Self { ssh: find("ssh")?, agent: find("ssh-agent")?, add: find("ssh-add")? })
    }
}
