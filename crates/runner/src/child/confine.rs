//! Keeps a process, and everything that it starts, from writing outside of some folders.
//!
//! The kernel does it (Landlock), and no process can take it back. A thread of its own is confined and starts the
//! process, which inherits it: so the runner itself stays free, and nothing of ours runs between fork and exec.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// The first version that knows every way to write to a file. An older kernel cannot keep the promise.
const VERSION: ABI = ABI::V3;

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

/// Starts a process that writes nowhere but into these folders.
pub(super) fn spawn(command: &mut Command, writable: &[PathBuf]) -> io::Result<Child> {
    let runtime = Handle::current();
    let start = || {
        let _entered = runtime.enter();
        restrict(writable).map_err(|error| io::Error::new(io::ErrorKind::Unsupported, error))?;
        command.spawn()
    };
    std::thread::scope(|scope| scope.spawn(start).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts a process panicked")))
}

/// Confines the thread that calls it, for ever.
fn restrict(writable: &[PathBuf]) -> Result<(), landlock::RulesetError> {
    let write = AccessFs::from_write(VERSION);
    let devices = DEVICES.iter().map(PathBuf::from);
    let folders = path_beneath_rules(writable.iter().cloned().chain(devices), write);
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(write)?
        .create()?
        .add_rules(folders)?
        .restrict_self()?;
    Ok(())
}
