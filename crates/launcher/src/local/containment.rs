//! The sandbox of agents on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr};

/// Paths and ports that agents cannot access, besides the launcher's own directories. Inside those, a runner gives its
/// agent access to the workspace and to the thread's storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DenyList {
    /// Absolute: runners have another working directory than the server.
    pub paths: Vec<PathBuf>,
    pub ports: Vec<u16>,
}

impl DenyList {
    /// Returns the command-line arguments for the runner. `launcher_dirs` are denied as well.
    pub(super) fn arguments<'a>(&self, launcher_dirs: impl IntoIterator<Item = &'a Path>) -> Vec<OsString> {
        let paths = launcher_dirs.into_iter().map(Path::to_owned).chain(self.paths.iter().cloned());
        let paths = paths.flat_map(|path| [OsString::from("--out-of-reach"), path.into_os_string()]);
        let ports = self.ports.iter().flat_map(|port| ["--closed-port".into(), port.to_string().into()]);
        paths.chain(ports).collect()
    }
}

/// Returns whether the kernel can restrict files and ports (Landlock, since Linux 6.7). Creates a ruleset without
/// applying it.
#[must_use]
pub fn supports_containment() -> bool {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let supported = rules.handle_access(AccessFs::from_all(ABI::V3));
    supported.and_then(|rules| rules.handle_access(AccessNet::ConnectTcp)?.create()).is_ok()
}
