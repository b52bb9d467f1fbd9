//! The first stage: joins the cgroups, changes the user if necessary, and replaces itself by `bwrap`.
//!
//! As root, the paths of the workspace and of the tools may lie in directories that the agent's user cannot enter, such
//! as root's home. So this stage mounts them in a directory that it can enter, in a mount namespace of its own, before
//! it changes the user.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getegid, geteuid, pipe, setgroups, setresgid, setresuid};

use super::bwrap::{self, DataFile};
use super::spec::{MountAccess, SandboxSpec};
use super::{OWN_DIR, init};

/// The argument that selects this stage.
pub const STAGE: &str = "sandbox-enter";

/// Where root mounts the directories of a sandbox: exists on every system, and every user may enter it.
const STAGING_DIR: &str = "/mnt";

/// Runs this stage with its arguments: the sandbox as JSON, and the command of the agent.
pub fn run(arguments: Vec<OsString>) -> Result<Infallible> {
    let mut arguments = arguments.into_iter();
    let spec = arguments.next().context("the sandbox is missing")?;
    let mut spec: SandboxSpec = serde_json::from_slice(spec.as_encoded_bytes()).context("invalid sandbox")?;
    for cgroup in &spec.cgroups {
        let tasks = cgroup.join("cgroup.procs");
        fs::write(&tasks, "0").with_context(|| format!("cannot join {}", cgroup.display()))?;
    }
    if let Some(user) = spec.user {
        stage_mounts(&mut spec).context("cannot mount the directories of the sandbox")?;
        let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
        setgroups(&[])?;
        setresgid(gid, gid, gid)?;
        setresuid(uid, uid, uid)?;
    }
    let (files, _kept_open) = data_files()?;
    let error = Command::new(&spec.bwrap)
        .args(bwrap::arguments(&spec, &files))
        .arg(Path::new(OWN_DIR).join("runner"))
        .arg(init::STAGE)
        .arg(serde_json::to_string(&spec)?)
        .args(arguments)
        .exec();
    Err(error).context("cannot start bwrap")
}

/// Mounts the sources of a sandbox where every user can enter. Only this process and its descendants see the mounts.
fn stage_mounts(spec: &mut SandboxSpec) -> Result<()> {
    let none: Option<&Path> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), STAGING_DIR, Some("tmpfs"), flags, Some("mode=0755,size=1m"))?;
    for (number, staged) in spec.mounts.iter_mut().enumerate() {
        let target = Path::new(STAGING_DIR).join(number.to_string());
        if staged.source.is_dir() {
            fs::create_dir(&target)?;
        } else {
            File::create_new(&target)?;
        }
        mount(Some(&staged.source), &target, none, MsFlags::MS_BIND, none)
            .with_context(|| format!("cannot mount {}", staged.source.display()))?;
        if staged.access == MountAccess::Read {
            let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
            mount(none, &target, none, flags, none)?;
        }
        staged.source = target;
    }
    Ok(())
}

/// Returns the files that exist only in the sandbox: a user database with one user, and a host table.
fn data_files() -> Result<(Vec<DataFile>, Vec<OwnedFd>)> {
    let (uid, gid) = (geteuid(), getegid());
    let contents = [
        ("/etc/passwd", format!("agent:x:{uid}:{gid}:agent:{OWN_DIR}:/bin/sh\n")),
        ("/etc/group", format!("agent:x:{gid}:\n")),
        ("/etc/hosts", "127.0.0.1 localhost sandbox\n".to_owned()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
        ("/etc/resolv.conf", String::new()),
        // A repository in a workspace may belong to another user.
        ("/etc/gitconfig", "[safe]\n\tdirectory = *\n".to_owned()),
    ];
    let mut files = Vec::new();
    let mut kept_open = Vec::new();
    for (target, text) in contents {
        let reader = readable_fd(&text)?;
        files.push(DataFile { target, fd: reader.as_raw_fd() });
        kept_open.push(reader);
    }
    Ok((files, kept_open))
}

/// Returns a descriptor that `bwrap` inherits and reads the text from. The text fits into the buffer of a pipe.
fn readable_fd(text: &str) -> Result<OwnedFd> {
    let (reader, writer) = pipe()?;
    File::from(writer).write_all(text.as_bytes())?;
    fcntl(&reader, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(reader)
}

/// Returns the command that starts a program in a sandbox.
pub(crate) fn command(helper: &Path, spec: &SandboxSpec) -> io::Result<Vec<OsString>> {
    let spec = serde_json::to_string(spec).map_err(io::Error::other)?;
    Ok(vec![PathBuf::from(helper).into_os_string(), STAGE.into(), spec.into(), "--".into()])
}
