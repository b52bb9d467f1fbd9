//! Confines a process and everything that it starts.
//!
//! Landlock confines it in the kernel, and no process can undo that. But Landlock also forbids mounts, so an agent
//! that runs its commands in a mount-based sandbox of its own gets bind mounts over the denied paths instead. A
//! dedicated thread restricts itself and then starts the process, which inherits the restriction. So the runner
//! itself stays unrestricted, and no code of ours runs between fork and exec.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::deny_list::{DenyList, allowed_paths};

/// The first Landlock ABI that covers every way to write to a file. Older kernels cannot confine an agent.
const FILE_ABI: ABI = ABI::V3;

/// Devices that every program may write to.
const WRITABLE_DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// How file access is restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConfinementMethod {
    #[default]
    Landlock,
    /// For an agent that creates mounts itself. Needs the program `bwrap`.
    Mounts,
}

/// What a process may access.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// The only directories that it may write to; `None` allows writing wherever it can read.
    pub writable: Option<Vec<PathBuf>>,
    pub deny: DenyList,
    /// Its own directories, which are accessible even below a denied path.
    pub own_dirs: Vec<PathBuf>,
    pub method: ConfinementMethod,
}

impl Confinement {
    pub(super) fn is_unrestricted(&self) -> bool {
        self.writable.is_none() && self.deny.is_empty()
    }
}

/// Starts a confined process. A kernel that cannot confine it is an error of kind `Unsupported`.
pub(super) fn spawn(
    command: &mut Command,
    confinement: &Confinement,
    denied: &[PathBuf],
) -> io::Result<Child> {
    let denied = match confinement.method {
        ConfinementMethod::Landlock => denied,
        ConfinementMethod::Mounts => &[],
    };
    let runtime = Handle::current();
    let start = || {
        let _entered = runtime.enter();
        restrict_thread(confinement, denied)
            .map_err(|error| io::Error::new(io::ErrorKind::Unsupported, error))?;
        command.spawn()
    };
    std::thread::scope(|scope| scope.spawn(start).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts a process panicked")))
}

/// Restricts the calling thread permanently.
fn restrict_thread(confinement: &Confinement, denied: &[PathBuf]) -> Result<(), RulesetError> {
    let (read, write) = (AccessFs::from_read(FILE_ABI), AccessFs::from_write(FILE_ABI));
    let handled = match (denied, &confinement.writable) {
        ([], None) => BitFlags::EMPTY,
        ([], Some(_)) => write,
        (_, _) => read | write,
    };
    let ports = &confinement.deny.ports;
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if !handled.is_empty() {
        rules = rules.handle_access(handled)?;
    }
    if !ports.is_empty() {
        rules = rules.handle_access(AccessNet::ConnectTcp)?;
    }
    if !confinement.deny.is_empty() {
        // Scopes need a newer kernel than the rest and matter least: applied where supported.
        rules = rules
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::Signal | Scope::AbstractUnixSocket)?;
    }
    let mut created = rules.set_compatibility(CompatLevel::HardRequirement).create()?;
    if !denied.is_empty() {
        let everywhere = if confinement.writable.is_some() { read } else { read | write };
        let allowed = allowed_paths(denied).into_iter().chain(confinement.own_dirs.iter().cloned());
        created = created.add_rules(path_beneath_rules(allowed, everywhere))?;
    }
    if let Some(dirs) = &confinement.writable {
        let devices = WRITABLE_DEVICES.iter().map(PathBuf::from);
        created = created.add_rules(path_beneath_rules(dirs.iter().cloned().chain(devices), write))?;
    }
    if !ports.is_empty() {
        created = allow_ports_except(created, ports)?;
    }
    created.restrict_self()?;
    Ok(())
}

/// Landlock has allow rules only, so all other ports are listed. This takes about 20 ms.
fn allow_ports_except(rules: RulesetCreated, denied: &[u16]) -> Result<RulesetCreated, RulesetError> {
    let allowed = (0..=u16::MAX).filter(|port| !denied.contains(port));
    rules.add_rules(allowed.map(|port| Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp))))
}

/// Returns the `bwrap` command line that covers the denied paths with empty directories and files. The program cannot
/// remove these mounts.
pub(super) fn bwrap_command(confinement: &Confinement, denied: &[PathBuf]) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["bwrap", "--dev-bind", "/", "/"].map(OsString::from).to_vec();
    let mut push = |all: &[&OsStr]| args.extend(all.iter().map(|arg| (*arg).to_owned()));
    let is_inner = |path: &PathBuf| denied.iter().any(|other| other != path && path.starts_with(other));
    for path in denied.iter().filter(|path| !is_inner(path)) {
        if path.is_dir() {
            push(&["--tmpfs".as_ref(), path.as_os_str()]);
        } else {
            push(&["--ro-bind".as_ref(), "/dev/null".as_ref(), path.as_os_str()]);
        }
    }
    for dir in &confinement.own_dirs {
        push(&["--bind".as_ref(), dir.as_os_str(), dir.as_os_str()]);
    }
    // A user namespace: it cannot reach the files through /proc of a process outside. No capabilities, so it cannot
    // remove the mounts; CAP_SETFCAP stays because a nested sandbox that maps root needs it. In there, mounts are
    // locked.
    let rest = ["--unshare-user", "--cap-drop", "ALL", "--cap-add", "CAP_SETFCAP", "--"];
    args.extend(rest.map(OsString::from));
    args
}
