//! Runs git in the sandbox of agents. A repository is untrusted data: nothing in it may be executed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::geteuid;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::error::WorkspaceError;
use crate::sandbox::{AgentUser, Cgroups, Containment, ProcessAccess, enter};

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
    },
}

/// Returns the user that git runs as in a sandbox; `None` is the user of the runner.
pub(super) fn git_user(containment: &Containment) -> Option<AgentUser> {
    match containment {
        Containment::Sandboxed(_) => geteuid().is_root().then(AgentUser::default),
        Containment::Uncontained => None,
    }
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
        let (prefix, cgroups) = self.sandbox()?;
        let mut command = match prefix.split_first() {
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest).arg(find_git()?);
                command
            }
            None => Command::new("git"),
        };
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

    /// Returns the command that starts a program in the sandbox; empty without one.
    fn sandbox(&self) -> Result<(Vec<OsString>, Cgroups), WorkspaceError> {
        let Containment::Sandboxed(sandbox) = self.containment else {
            return Ok((Vec::new(), Cgroups::default()));
        };
        let access = ProcessAccess {
            writable: self.writable.clone(),
            readable: self.readable.clone(),
            user: git_user(self.containment),
            proxy: match &self.network {
                GitNetwork::None => None,
                GitNetwork::Proxy { socket } => socket.clone(),
            },
            ..ProcessAccess::default()
        };
        sandbox.check(&access)?;
        let cgroups = Cgroups::create(&sandbox.limits);
        let spec = sandbox.spec(&access, self.working_dir(), &cgroups);
        Ok((enter::command(&sandbox.helper, &spec)?, cgroups))
    }

    /// Returns the transports that git may use.
    fn protocols(&self) -> &'static str {
        match self.network {
            GitNetwork::None => "file",
            // Plain HTTP to the proxy on loopback, which speaks HTTPS to the host.
            GitNetwork::Proxy { .. } => "http",
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
            .current_dir(self.working_dir())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs([
                ("HOME", "/nonexistent"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", global),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_ALLOW_PROTOCOL", self.protocols()),
                ("GIT_NO_LAZY_FETCH", "1"),
                ("LC_ALL", "C"),
            ])
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        for entry in GIT_CONFIG.iter().map(OsStr::new).chain(self.config.iter().map(OsString::as_os_str)) {
            command.arg("-c").arg(entry);
        }
    }
}

/// Finds git in the directories of the system, which every sandbox sees.
fn find_git() -> Result<PathBuf, WorkspaceError> {
    let dirs = ["/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin"];
    let found = dirs.iter().map(|dir| Path::new(dir).join("git")).find(|path| path.is_file());
    found.ok_or(WorkspaceError::GitFailed("find git"))
}
