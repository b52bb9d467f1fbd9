//! Keeps a process, and everything that it starts, within bounds.
//!
//! The kernel does it (Landlock), and no process can take it back. One thing it then forbids for good, making mounts: an
//! agent that puts its commands into a sandbox of its own that way sees mounts of ours in place of what is hidden.
//! A thread of its own is confined and starts the
//! process, which inherits it: so the runner itself stays free, and nothing of ours runs between fork and exec.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::reach::{OutOfReach, reachable};

/// The first version that knows every way to write to a file. An older kernel cannot keep the promise.
const FILES: ABI = ABI::V3;

/// What every program may write to: nothing is kept there.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// By what a process is kept from files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    #[default]
    Rules,
    /// For an agent that makes mounts itself. It needs the program `bwrap`.
    Mounts,
}

/// How far a process may reach.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// The folders outside of which it may write nothing; without it, wherever it can read.
    pub writable: Option<Vec<PathBuf>>,
    pub out_of_reach: OutOfReach,
    /// Its own folders, wherever they lie: below what is out of reach, too.
    pub own: Vec<PathBuf>,
    pub by: By,
}

impl Bounds {
    pub(super) fn are_none(&self) -> bool {
        self.writable.is_none() && self.out_of_reach.is_nothing()
    }
}

/// Starts a process within bounds. A kernel that cannot keep them is an error of kind `Unsupported`.
pub(super) fn spawn(command: &mut Command, bounds: &Bounds, hidden: &[PathBuf]) -> io::Result<Child> {
    let paths = match bounds.by {
        By::Rules => hidden,
        By::Mounts => &[],
    };
    let runtime = Handle::current();
    let start = || {
        let _entered = runtime.enter();
        restrict(bounds, paths).map_err(|error| io::Error::new(io::ErrorKind::Unsupported, error))?;
        command.spawn()
    };
    std::thread::scope(|scope| scope.spawn(start).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts a process panicked")))
}

/// Confines the thread that calls it, for ever.
fn restrict(bounds: &Bounds, hidden: &[PathBuf]) -> Result<(), RulesetError> {
    let (read, write) = (AccessFs::from_read(FILES), AccessFs::from_write(FILES));
    let handled = match (hidden, &bounds.writable) {
        ([], None) => BitFlags::EMPTY,
        ([], Some(_)) => write,
        (_, _) => read | write,
    };
    let ports = &bounds.out_of_reach.ports;
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if !handled.is_empty() {
        rules = rules.handle_access(handled)?;
    }
    if !ports.is_empty() {
        rules = rules.handle_access(AccessNet::ConnectTcp)?;
    }
    if !bounds.out_of_reach.is_nothing() {
        // Younger than the rest, and the least of it: kept where the kernel knows it.
        rules = rules
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::Signal | Scope::AbstractUnixSocket)?;
    }
    let mut created = rules.set_compatibility(CompatLevel::HardRequirement).create()?;
    if !hidden.is_empty() {
        let everywhere = if bounds.writable.is_some() { read } else { read | write };
        let open = reachable(hidden).into_iter().chain(bounds.own.iter().cloned());
        created = created.add_rules(path_beneath_rules(open, everywhere))?;
    }
    if let Some(folders) = &bounds.writable {
        let devices = DEVICES.iter().map(PathBuf::from);
        created = created.add_rules(path_beneath_rules(folders.iter().cloned().chain(devices), write))?;
    }
    if !ports.is_empty() {
        created = open_all_but(created, ports)?;
    }
    created.restrict_self()?;
    Ok(())
}

/// Landlock knows what is allowed and not what is forbidden: so all other ports are named, in some 20 ms.
fn open_all_but(rules: RulesetCreated, closed: &[u16]) -> Result<RulesetCreated, RulesetError> {
    let open = (0..=u16::MAX).filter(|port| !closed.contains(port));
    rules.add_rules(open.map(|port| Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp))))
}

/// Returns the words that a program is started with so that it sees nothing of what is hidden: empty folders and files
/// lie in their place, which it cannot take away.
pub(super) fn mounts(bounds: &Bounds, hidden: &[PathBuf]) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["bwrap", "--dev-bind", "/", "/"].map(OsString::from).to_vec();
    let mut say = |all: &[&OsStr]| words.extend(all.iter().map(|word| (*word).to_owned()));
    let is_inner = |path: &PathBuf| hidden.iter().any(|other| other != path && path.starts_with(other));
    for path in hidden.iter().filter(|path| !is_inner(path)) {
        if path.is_dir() {
            say(&["--tmpfs".as_ref(), path.as_os_str()]);
        } else {
            say(&["--ro-bind".as_ref(), "/dev/null".as_ref(), path.as_os_str()]);
        }
    }
    for folder in &bounds.own {
        say(&["--bind".as_ref(), folder.as_os_str(), folder.as_os_str()]);
    }
    // Users of its own: it cannot look at the files through a process that sees them. Without the rights of root, by which
    // it could take the mounts away; the one that is left lets it make a sandbox for root inside, where they are locked.
    let rest = ["--unshare-user", "--cap-drop", "ALL", "--cap-add", "CAP_SETFCAP", "--"];
    words.extend(rest.map(OsString::from));
    words
}
