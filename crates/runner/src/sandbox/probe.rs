//! Finds `bwrap`, and tries once whether a sandbox works on this machine.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::{AgentUser, Cgroups, ProcessAccess, Sandbox, enter};

/// The argument with which this program tries whether a sandbox works.
pub const PROBE_STAGE: &str = "sandbox-probe";

/// Longer than a sandbox takes to start on a busy machine.
const PROBE_TIMEOUT: Duration = Duration::from_secs(50);

/// Why agents cannot be contained on this machine.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("bubblewrap is not installed: install the package `bubblewrap`, which has the program `bwrap`")]
    NotInstalled,
    #[error("a sandbox does not start on this machine: {0}")]
    Failed(String),
}

/// Finds `bwrap` in the directories of the system. The search path is not used: it may contain a program of a user.
pub fn find_bwrap() -> Result<PathBuf, ProbeError> {
    let is_executable =
        |path: &PathBuf| path.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
    let dirs = ["/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin"];
    let found = dirs.iter().map(|dir| Path::new(dir).join("bwrap")).find(is_executable);
    found.ok_or(ProbeError::NotInstalled)
}

/// Starts a program in a sandbox once.
pub async fn probe(sandbox: &Sandbox) -> Result<(), ProbeError> {
    let user = nix::unistd::geteuid().is_root().then(AgentUser::default);
    let access = ProcessAccess { user, ..ProcessAccess::default() };
    let failed = |error: std::io::Error| ProbeError::Failed(error.to_string());
    let spec = sandbox.spec(&access, Path::new("/"), &Cgroups::default());
    let command = enter::command(&sandbox.helper, &spec).map_err(failed)?;
    let output = Command::new(&command[0])
        .args(&command[1..])
        .arg("/bin/true")
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match timeout(PROBE_TIMEOUT, output).await {
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => {
            let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(ProbeError::Failed(if text.is_empty() { output.status.to_string() } else { text }))
        }
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(ProbeError::Failed("it did not end in time".to_owned())),
    }
}
