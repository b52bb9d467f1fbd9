//! A root file system with an installation, the libraries of libc, a shell, and nothing else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::PROGRAMS;
use crate::command::output;

/// The home of the user in the root file system. The installation is in its `.local`.
const HOME: &str = "/home/user";

/// The demo agent calls tools through it.
const SHELL: &str = "/bin/sh";

/// Seconds after which a program is ended: nothing here takes longer, and no failure may hang.
const TIMEOUT: &str = "180";

/// The root file system. Its programs see the network of this machine.
pub(super) struct MinimalRoot {
    mounts: Vec<OsString>,
    /// The files in it that come from the system.
    pub(super) system_files: BTreeSet<PathBuf>,
}

impl MinimalRoot {
    /// Describes a root file system with the installation in `prefix`. Its home is kept in a folder.
    pub(super) fn new(prefix: &Path, home: &Path) -> Result<Self> {
        let shell = fs::canonicalize(SHELL)?;
        let programs = PROGRAMS.map(|name| prefix.join("bin").join(name));
        let mut system_files = BTreeSet::new();
        for program in programs.iter().chain([&shell]) {
            system_files.extend(libraries(program)?);
        }
        fs::create_dir_all(home.join(".local"))?;
        fs::write(home.join("passwd"), format!("user:x:1000:1000::{HOME}:{SHELL}\n"))?;
        let mut mounts: Vec<OsString> = Vec::new();
        let mut mount = |option: &str, source: &Path, target: &Path| {
            mounts.extend([option.into(), source.into(), target.into()]);
        };
        for file in &system_files {
            mount("--ro-bind", &fs::canonicalize(file)?, file);
        }
        mount("--ro-bind", &shell, Path::new(SHELL));
        mount("--ro-bind", &home.join("passwd"), Path::new("/etc/passwd"));
        mount("--bind", home, Path::new(HOME));
        mount("--ro-bind", prefix, &Path::new(HOME).join(".local"));
        system_files.insert(SHELL.into());
        Ok(Self { mounts, system_files })
    }

    /// Prepares an installed program with only the given environment. It ends with this process.
    pub(super) fn command(&self, program: &str, environment: &[(&str, String)]) -> Command {
        let mut command = Command::new("timeout");
        command
            .args([TIMEOUT, "bwrap"])
            .args(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"])
            .args(["--uid", "1000", "--gid", "1000", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"])
            .args(&self.mounts)
            .args(["--chdir", HOME, "--", &format!("{HOME}/.local/bin/{program}")])
            .env_clear()
            .env("HOME", HOME)
            .env("PATH", format!("{HOME}/.local/bin:/bin"))
            .envs(environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Returns the loader and the shared libraries of a program.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let printed = output(Command::new("ldd").arg(program))?;
    ensure!(!printed.contains("not found"), "{} lacks a library:\n{printed}", program.display());
    let paths = printed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    let paths: Vec<PathBuf> = paths.filter(|path| path.is_absolute()).collect();
    paths.first().context("no library: is it a static program?")?;
    Ok(paths)
}
