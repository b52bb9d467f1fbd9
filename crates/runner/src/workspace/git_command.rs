//! Runs git in the sandbox of agents. A repository is untrusted data: nothing in it may be executed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::error::WorkspaceError;
use crate::git_proxy::ProxyProtocol;
use crate::sandbox::{Cgroups, Containment, ProcessAccess, find_system_program};

/// Enough for a large repository on a slow disk.
const GIT_TIMEOUT: Duration = Duration::from_secs(300);

/// Large repositories over a slow network.
const FETCH_TIMEOUT: Duration = Duration::from_secs(1800);

/// Configuration of every call: no hooks, no helpers, no submodules, no redirects.
const GIT_CONFIG: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.autocrlf=false",
    "advice.addEmbeddedRepo=false",
    "credential.helper=",
    "http.followRedirects=false",
    "http.proxy=",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=no",
    "gc.auto=0",
];

/// Git with what it may access. In the sandbox it sees nothing else.
#[derive(Debug, Clone)]
pub(super) struct GitCommand<'a> {
    pub(super) containment: &'a Containment,
    pub(super) readable: Vec<PathBuf>,
    /// Writable directories; the first one is the working directory.
    pub(super) writable: Vec<PathBuf>,
    /// `GIT_DIR`, `GIT_WORK_TREE`, and so on.
    pub(super) environment: Vec<(&'static str, OsString)>,
    pub(super) config: Vec<OsString>,
    pub(super) network: GitNetwork,
}

/// Whether git can fetch from a repository that is not on this machine.
#[derive(Debug, Clone)]
pub(super) enum GitNetwork {
    None,
    /// Only through the git proxy, whose socket the sandbox has.
    Proxy {
        socket: Option<PathBuf>,
        protocol: ProxyProtocol,
    },
}

impl GitCommand<'_> {
    /// Runs git. `action` completes the sentence "git could not …".
    pub(super) async fn run<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        action: &'static str,
    ) -> Result<(), WorkspaceError> {
        match self.output(arguments, action, 0).await? {
            Some(_) => Ok(()),
            None => Err(WorkspaceError::GitFailed(action)),
        }
    }

    /// Runs git and returns the start of its output; `None` if it failed.
    pub(super) async fn output<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        action: &'static str,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let (mut command, cgroups) = self.command()?;
        self.restrict(&mut command);
        command.args(arguments);
        let run = async {
            let mut child = command.spawn()?;
            let mut output = Vec::new();
            if let Some(mut stdout) = child.stdout.take() {
                (&mut stdout).take(max_bytes).read_to_end(&mut output).await?;
                // Git fails if nobody reads its output.
                tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
            }
            Ok::<_, std::io::Error>(child.wait().await?.success().then_some(output))
        };
        let limit = match self.network {
            GitNetwork::None => GIT_TIMEOUT,
            GitNetwork::Proxy { .. } => FETCH_TIMEOUT,
        };
        let finished = timeout(limit, run).await;
        drop(cgroups);
        Ok(finished.map_err(|_| WorkspaceError::GitTimeout(action))??)
    }

    /// Returns the command that starts git, in a sandbox if there is one.
    fn command(&self) -> Result<(Command, Cgroups), WorkspaceError> {
        let program = match self.containment {
            Containment::Sandboxed(_) => {
                find_system_program("git").ok_or(WorkspaceError::GitFailed("find git"))?
            }
            Containment::Uncontained => PathBuf::from("git"),
        };
        let access = ProcessAccess {
            writable: self.writable.clone(),
            readable: self.readable.clone(),
            user: self.containment.program_user(),
            proxy: match &self.network {
                GitNetwork::None => None,
                GitNetwork::Proxy { socket, .. } => socket.clone(),
            },
            ..ProcessAccess::default()
        };
        Ok(self.containment.command(&program, &access, self.working_dir())?)
    }

    /// Returns the transports that git may use.
    fn protocols(&self) -> &'static str {
        match self.network {
            GitNetwork::None => "file",
            GitNetwork::Proxy { protocol, .. } => protocol.name(),
        }
    }

    fn working_dir(&self) -> &Path {
        self.writable.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// Lets git read no configuration but ours and never prompt. Without a sandbox git itself rejects repositories of
    /// other users, which could contain a malicious configuration; in the sandbox it runs as another user.
    fn restrict(&self, command: &mut Command) {
        let global = match self.containment {
            Containment::Sandboxed(_) => "/etc/gitconfig",
            Containment::Uncontained => "/dev/null",
        };
        command
            .envs([
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", global),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_ALLOW_PROTOCOL", self.protocols()),
                ("GIT_NO_LAZY_FETCH", "1"),
                // A delta may claim any size. Not every machine has cgroups.
                ("GIT_ALLOC_LIMIT", "2g"),
            ])
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for entry in GIT_CONFIG.iter().map(OsStr::new).chain(self.config.iter().map(OsString::as_os_str)) {
            command.arg("-c").arg(entry);
        }
    }
}
