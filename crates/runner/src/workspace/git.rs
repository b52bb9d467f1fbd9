//! Clones repositories of this machine. A repository is untrusted data: nothing in it may be executed.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use guildhall_domain::runs::policy::GitRevision;
use tokio::process::Command;
use tokio::time::timeout;

use super::error::WorkspaceError;

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
pub(super) async fn clone_at(source: &Path, at: &GitRevision, into: &Path) -> Result<(), WorkspaceError> {
    let mut clone = git();
    clone.args([
        "clone",
        "--quiet",
        "--no-local",
        "--no-hardlinks",
        "--no-recurse-submodules",
        "--template=",
    ]);
    match at {
        GitRevision::Default => {}
        // Its type excludes options and ranges.
        GitRevision::Ref(name) => {
            clone.args(["--branch", name.as_str()]);
        }
        GitRevision::Commit(_) => {
            clone.arg("--no-checkout");
        }
    }
    clone.arg("--").arg(source).arg(into);
    run(clone, "clone the repository").await?;
    if let GitRevision::Commit(id) = at {
        let mut checkout = git();
        checkout.arg("-C").arg(into).args(["checkout", "--quiet", "--detach", id.as_str(), "--"]);
        run(checkout, "check out the commit").await?;
    }
    // Without the remote, an agent cannot push into the operator's repository by accident.
    let mut remove_remote = git();
    remove_remote.arg("-C").arg(into).args(["remote", "remove", "origin"]);
    run(remove_remote, "remove the remote").await
}

/// Returns a git command that reads no configuration but ours and never prompts. Git itself rejects repositories of
/// other users, which could contain a malicious configuration.
fn git() -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
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
    command
}

async fn run(mut command: Command, action: &'static str) -> Result<(), WorkspaceError> {
    match timeout(GIT_TIMEOUT, command.status()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(_)) => Err(WorkspaceError::GitFailed(action)),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(WorkspaceError::GitTimeout(action)),
    }
}
