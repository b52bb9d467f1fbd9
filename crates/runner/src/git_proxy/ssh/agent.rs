//! The key of a fetch, in an `ssh-agent` in a sandbox of its own. Programs with its socket can sign with the key, but not
//! read it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use super::super::failure::FetchFailure;
use super::super::private_folder;
use super::programs::SshPrograms;
use crate::sandbox::{Cgroups, Containment, Mount, MountAccess, OWN_DIR, ProcessAccess, give_to_agent};

/// Longer than a sandbox takes to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

const SOCKET: &str = "agent.sock";

/// A running agent with one key. Dropping it kills it.
#[derive(Debug)]
pub(super) struct SshAgent {
    socket: PathBuf,
    _process: Child,
    _output: BufReader<ChildStdout>,
    _cgroups: Cgroups,
    _folder: TempDir,
}

/// The folder of the socket, as the programs see it.
struct SshAgentFolder {
    access: ProcessAccess,
    socket: OsString,
}

impl SshAgent {
    /// Starts an agent and gives it the key.
    pub(super) async fn start(
        programs: &SshPrograms,
        containment: &Containment,
        key: &SecretString,
    ) -> Result<Self, FetchFailure> {
        let failed = |error: io::Error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "cannot start ssh-agent");
            FetchFailure::Proxy
        };
        let folder = private_folder().map_err(failed)?;
        if let Some(user) = containment.program_user() {
            give_to_agent(folder.path(), user).map_err(failed)?;
        }
        let seen = SshAgentFolder::new(folder.path(), containment);
        let start = start_process(programs, containment, &seen);
        let (process, output, cgroups) = timeout(START_TIMEOUT, start)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(failed)?;
        let add = add_key(programs, containment, &seen, key);
        match timeout(START_TIMEOUT, add).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return Err(FetchFailure::InvalidSshKey),
            Ok(Err(error)) => return Err(failed(error)),
            Err(_) => return Err(failed(io::ErrorKind::TimedOut.into())),
        }
        let socket = folder.path().join(SOCKET);
        Ok(Self { socket, _process: process, _output: output, _cgroups: cgroups, _folder: folder })
    }

    /// Returns the socket, outside of sandboxes.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl SshAgentFolder {
    fn new(folder: &Path, containment: &Containment) -> Self {
        let target = match containment {
            Containment::Sandboxed(_) => Path::new(OWN_DIR).join("agent"),
            Containment::Uncontained => folder.to_owned(),
        };
        let mount = Mount { source: folder.to_owned(), target: target.clone(), access: MountAccess::Write };
        Self {
            access: ProcessAccess {
                mounts: vec![mount],
                user: containment.program_user(),
                ..ProcessAccess::default()
            },
            socket: target.join(SOCKET).into_os_string(),
        }
    }
}

async fn start_process(
    programs: &SshPrograms,
    containment: &Containment,
    folder: &SshAgentFolder,
) -> io::Result<(Child, BufReader<ChildStdout>, Cgroups)> {
    let (mut command, cgroups) = containment.command(&programs.agent, &folder.access, Path::new("/"))?;
    command.arg("-D").arg("-a").arg(&folder.socket);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn()?;
    let mut output = BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
    // It prints the path of its socket when it listens.
    if output.read_line(&mut String::new()).await? == 0 {
        return Err(io::Error::other("ssh-agent has exited"));
    }
    Ok((process, output, cgroups))
}

/// Returns whether the agent has the key now. A key with a passphrase is refused.
async fn add_key(
    programs: &SshPrograms,
    containment: &Containment,
    folder: &SshAgentFolder,
    key: &SecretString,
) -> io::Result<bool> {
    let (mut command, _cgroups) = containment.command(&programs.add, &folder.access, Path::new("/"))?;
    command.args(["-q", "-"]).env("SSH_AUTH_SOCK", &folder.socket);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn()?;
    let mut stdin = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    // OpenSSH wants a line break at the end of a key.
    let text = format!("{}\n", key.expose_secret().trim_end());
    let _exited_early = stdin.write_all(text.as_bytes()).await;
    drop(stdin);
    Ok(process.wait().await?.success())
}
