//! Clones repositories of this machine. A repository is untrusted data: nothing in it may be executed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use guildhall_domain::runs::policy::GitRevision;
use nix::unistd::geteuid;
use tokio::process::Command;
use tokio::time::timeout;

use super::error::WorkspaceError;
use crate::sandbox::{AgentUser, Cgroups, Containment, ProcessAccess, create_dir, enter};

/// Enough for a large repository on a slow disk.
const GIT_TIMEOUT: Duration = Duration::from_secs(300);

/// Configuration of every call: no hooks, no helpers, no submodules, and no transport but local files.
const GIT_CONFIG: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=no",
    "gc.auto=0",
];

/// Clones a repository or bundle file into a new directory, at a branch, tag or commit. Objects are copied: the clone
/// shares no file with its source, so an agent cannot damage the source through it.
pub(super) async fn clone_at(
    containment: &Containment,
    source: &Path,
    at: &GitRevision,
    into: &Path,
) -> Result<(), WorkspaceError> {
    let user = geteuid().is_root().then(AgentUser::default);
    create_dir(into, if let Containment::Sandboxed(_) = containment { user } else { None })?;
    let git = GitCommand { containment, source, into, user };
    let mut clone: Vec<&OsStr> =
        ["clone", "--quiet", "--no-local", "--no-hardlinks", "--no-recurse-submodules", "--template="]
            .map(OsStr::new)
            .to_vec();
    match at {
        GitRevision::Default => {}
        // Its type excludes options and ranges.
        GitRevision::Ref(name) => clone.extend(["--branch", name.as_str()].map(OsStr::new)),
        GitRevision::Commit(_) => clone.push(OsStr::new("--no-checkout")),
    }
    clone.extend([OsStr::new("--"), source.as_os_str(), into.as_os_str()]);
    git.run(&clone, "clone the repository").await?;
    if let GitRevision::Commit(id) = at {
        let checkout = ["checkout", "--quiet", "--detach", id.as_str(), "--"].map(OsStr::new);
        git.run(&checkout, "check out the commit").await?;
    }
    // Without the remote, an agent cannot push into the operator's repository by accident.
    git.run(&["remote", "remove", "origin"].map(OsStr::new), "remove the remote").await
}

/// Runs git in the sandbox of agents: it sees the source, read-only, and the new directory.
struct GitCommand<'a> {
    containment: &'a Containment,
    source: &'a Path,
    into: &'a Path,
    user: Option<AgentUser>,
}

impl GitCommand<'_> {
    async fn run(&self, arguments: &[&OsStr], action: &'static str) -> Result<(), WorkspaceError> {
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
        let status = timeout(GIT_TIMEOUT, command.status()).await;
        drop(cgroups);
        match status {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(_)) => Err(WorkspaceError::GitFailed(action)),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(WorkspaceError::GitTimeout(action)),
        }
    }

    /// Returns the command that starts a program in the sandbox; empty without one.
    fn sandbox(&self) -> Result<(Vec<OsString>, Cgroups), WorkspaceError> {
        let Containment::Sandboxed(sandbox) = self.containment else {
            return Ok((Vec::new(), Cgroups::default()));
        };
        let access = ProcessAccess {
            writable: vec![self.into.to_owned()],
            readable: vec![self.source.to_owned()],
            user: self.user,
            ..ProcessAccess::default()
        };
        sandbox.check(&access)?;
        let cgroups = Cgroups::create(&sandbox.limits);
        Ok((enter::command(&sandbox.helper, &sandbox.spec(&access, self.into, &cgroups))?, cgroups))
    }

    /// Lets git read no configuration but ours and never prompt. Without a sandbox git itself rejects repositories of
    /// other users, which could contain a malicious configuration; in the sandbox it runs as another user.
    fn restrict(&self, command: &mut Command) {
        let global = match self.containment {
            Containment::Sandboxed(_) => "/etc/gitconfig",
            Containment::Uncontained => "/dev/null",
        };
        command
            .current_dir(self.into)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs([
                ("HOME", "/nonexistent"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", global),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_ALLOW_PROTOCOL", "file"),
                ("GIT_NO_LAZY_FETCH", "1"),
                ("LC_ALL", "C"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        for entry in GIT_CONFIG {
            command.args(["-c", entry]);
        }
    }
}

/// Finds git in the directories of the system, which every sandbox sees.
fn find_git() -> Result<PathBuf, WorkspaceError> {
    let dirs = ["/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin"];
    let found = dirs.iter().map(|dir| Path::new(dir).join("git")).find(|path| path.is_file());
    found.ok_or(WorkspaceError::GitFailed("find git"))
}
