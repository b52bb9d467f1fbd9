//! What of this machine is out of an agent's reach: our own state, the credentials, the engines.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Paths that an agent can neither read nor write, and TCP ports that it cannot connect to, nor what it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutOfReach {
    pub paths: Vec<PathBuf>,
    pub ports: Vec<u16>,
}

impl OutOfReach {
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.paths.is_empty() && self.ports.is_empty()
    }

    /// Returns the paths as the kernel knows them; what is not there needs no hiding. Refused where one of the
    /// process's own folders holds one of them: it would be hidden and open at once.
    pub(super) fn resolved(&self, own: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let hidden: Vec<PathBuf> = self.paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        for folder in own {
            let folder = fs::canonicalize(folder)?;
            if hidden.iter().any(|path| path.starts_with(&folder)) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the agent's own folder holds what is out of its reach: keep the runner's state and the \
                     credentials outside of the workspace",
                ));
            }
        }
        Ok(hidden)
    }
}

/// Returns everything that is not hidden, as few paths as there are: what stands beside each hidden path, and beside each
/// folder above it. The folders above can be passed through and not listed.
pub(super) fn reachable(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let above: BTreeSet<&Path> = hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let mut open = Vec::new();
    for folder in &above {
        // Below something that is hidden as a whole there is nothing to open.
        if hidden.iter().any(|path| folder.starts_with(path)) {
            continue;
        }
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let beside = entries.filter_map(|entry| Some(entry.ok()?.path()));
        open.extend(beside.filter(|path| !above.contains(path.as_path()) && !hidden.contains(path)));
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_open_but_what_is_hidden_and_the_folders_above_it() {
        let root = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(root.path()).expect("it is there");
        let at = |path: &str| root.join(path);
        fs::create_dir_all(at("a/b/hidden/inner")).expect("made");
        fs::create_dir_all(at("a/beside")).expect("made");
        fs::create_dir_all(at("c")).expect("made");
        fs::write(at("a/file"), "").expect("written");
        let open: BTreeSet<PathBuf> = reachable(&[at("a/b/hidden"), at("a/b/hidden/inner"), at("a/file")])
            .into_iter()
            .filter(|path| path.starts_with(&root))
            .collect();
        assert_eq!(open, BTreeSet::from([at("a/beside"), at("c")]));
    }

    #[test]
    fn a_folder_cannot_be_an_agents_own_and_hold_what_is_hidden() {
        let root = tempfile::tempdir().expect("a folder");
        let (workspace, state) = (root.path().join("work"), root.path().join("work/state"));
        fs::create_dir_all(state.join("session")).expect("made");
        let hidden = OutOfReach { paths: vec![state.clone(), root.path().join("missing")], ports: vec![] };
        let refused = hidden.resolved(&[workspace]).expect_err("hidden and open at once");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        let found = hidden.resolved(&[state.join("session")]).expect("its own lies below");
        assert_eq!(found, [fs::canonicalize(&state).expect("it is there")]);
    }
}
