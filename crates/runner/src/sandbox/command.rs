//! Starts programs of the system, such as git, each in a sandbox of its own.

use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use tokio::process::Command;

use super::{AgentUser, Cgroups, Containment, ProcessAccess, enter};

/// The directories of the system, which every sandbox sees.
const PROGRAM_DIRS: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin"];

/// Finds a program in the directories of the system.
pub(crate) fn find_system_program(name: &str) -> Option<PathBuf> {
    PROGRAM_DIRS.iter().map(|dir| Path::new(dir).join(name)).find(|path| path.is_file())
}

impl Containment {
    /// Returns the user that programs of the system run as in a sandbox; `None` is the user of the runner.
    pub(crate) fn program_user(&self) -> Option<AgentUser> {
        match self {
            Self::Sandboxed(_) => geteuid().is_root().then(AgentUser::default),
            Self::Uncontained => None,
        }
    }

    /// Returns the command that starts a program with this access. The cgroups must live as long as the process.
    pub(crate) fn command(
        &self,
        program: &Path,
        access: &ProcessAccess,
        dir: &Path,
    ) -> io::Result<(Command, Cgroups)> {
        let (mut command, cgroups) = match self {
            Self::Sandboxed(sandbox) => {
                sandbox.check(access)?;
                let cgroups = Cgroups::create(&sandbox.limits);
                let prefix = enter::command(&sandbox.helper, &sandbox.spec(access, dir, &cgroups))?;
                let mut command = Command::new(&prefix[0]);
                command.args(&prefix[1..]).arg(program);
                (command, cgroups)
            }
            Self::Uncontained => (Command::new(program), Cgroups::default()),
        };
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs([("HOME", "/nonexistent"), ("LC_ALL", "C")])
            .kill_on_drop(true);
        Ok((command, cgroups))
    }
}
