//! Checkouts of repositories of this machine. A repository is somebody's data: nothing in it may run.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use guildhall_domain::runs::policy::GitPoint;
use tokio::process::Command;
use tokio::time::timeout;

use super::WorkspaceError;

/// A large repository on a slow disk; more has hung.
const WITHIN: Duration = Duration::from_secs(300);

/// What holds for every call: no hooks, no helpers, no other repositories, and no transport but this machine's files.
const SETTINGS: [&str; 9] = [
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

/// Clones a repository, or a bundle, into a folder that is not there yet, at a branch, tag or commit. Objects are copied:
/// the clone shares no file with its source, and an agent that spoils it spoils nothing else.
pub(super) async fn check_out(source: &Path, at: &GitPoint, into: &Path) -> Result<(), WorkspaceError> {
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
        GitPoint::Default => {}
        // Its type lets no option through, and nothing that git would read as a range.
        GitPoint::Ref(name) => {
            clone.args(["--branch", name.as_str()]);
        }
        GitPoint::Commit(_) => {
            clone.arg("--no-checkout");
        }
    }
    clone.arg("--").arg(source).arg(into);
    run(clone, "clone the repository").await?;
    if let GitPoint::Commit(id) = at {
        let mut checkout = git();
        checkout.arg("-C").arg(into).args(["checkout", "--quiet", "--detach", id.as_str(), "--"]);
        run(checkout, "find that commit").await?;
    }
    // The way back is closed: an agent does not push into the operator's repository by accident.
    let mut forget = git();
    forget.arg("-C").arg(into).args(["remote", "remove", "origin"]);
    run(forget, "forget where it came from").await
}

/// Begins a call of git that reads no configuration but ours, and asks nobody. A repository of another user is refused by
/// git itself: such a one could have been prepared.
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
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}

async fn run(mut command: Command, what: &'static str) -> Result<(), WorkspaceError> {
    match timeout(WITHIN, command.status()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(_)) => Err(WorkspaceError::Git(what)),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(WorkspaceError::Slow(what)),
    }
}
