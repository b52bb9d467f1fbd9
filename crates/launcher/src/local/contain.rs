//! What agents of the runners of this machine cannot reach.

use std::ffi::OsString;
use std::path::PathBuf;

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr};

use super::Options;
use super::files::Files;

/// What agents cannot reach, beside the launcher's own folders. A runner leaves its agent the workspace and the thread's
/// storage, which lie in those.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutOfReach {
    /// Absolute: runners stand in another folder than the server.
    pub paths: Vec<PathBuf>,
    pub ports: Vec<u16>,
}

impl OutOfReach {
    /// Returns the words that a runner is told this by.
    pub(super) fn words(&self, files: &Files, options: &Options) -> Vec<OsString> {
        let own = [Some(files.root().to_owned()), options.profiles.clone()];
        let paths = own.into_iter().flatten().chain(self.paths.iter().cloned());
        let paths = paths.flat_map(|path| [OsString::from("--out-of-reach"), path.into_os_string()]);
        let ports = self.ports.iter().flat_map(|port| ["--closed-port".into(), port.to_string().into()]);
        paths.chain(ports).collect()
    }
}

/// Says whether the kernel can keep agents from files and from ports (Landlock, since Linux 6.7). It is asked for rules
/// that bind nobody.
#[must_use]
pub fn can_contain() -> bool {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let asked = rules.handle_access(AccessFs::from_all(ABI::V3));
    asked.and_then(|rules| rules.handle_access(AccessNet::ConnectTcp)?.create()).is_ok()
}
