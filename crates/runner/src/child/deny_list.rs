//! What an agent cannot access on this machine: the runner's state, the credentials, the engines.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Paths that an agent and its descendants can neither read nor write, and TCP ports that they cannot connect to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DenyList {
    pub paths: Vec<PathBuf>,
    pub ports: Vec<u16>,
}

impl DenyList {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.ports.is_empty()
    }

    /// Returns the canonical form of the paths that exist. Fails when one of the process's own directories contains a
    /// denied path: it would have to be both accessible and denied.
    pub(super) fn resolve(&self, own_dirs: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let denied: Vec<PathBuf> = self.paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        for dir in own_dirs {
            let dir = fs::canonicalize(dir)?;
            if denied.iter().any(|path| path.starts_with(&dir)) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a directory of the agent contains a path that is denied to it: keep the runner's state and the \
                     credentials outside of the workspace",
                ));
            }
        }
        Ok(denied)
    }
}

/// Returns the smallest set of paths that covers everything that is not denied: the siblings of each denied path, and
/// of each directory above it. The directories above can be traversed but not listed.
pub(super) fn allowed_paths(denied: &[PathBuf]) -> Vec<PathBuf> {
    let ancestors: BTreeSet<&Path> = denied.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let mut allowed = Vec::new();
    for dir in &ancestors {
        // Nothing is allowed inside a denied directory.
        if denied.iter().any(|path| dir.starts_with(path)) {
            continue;
        }
        let Ok(entries) = fs::read_dir(dir) else { continue };
        let siblings = entries.filter_map(|entry| Some(entry.ok()?.path()));
        allowed.extend(siblings.filter(|path| !ancestors.contains(path.as_path()) && !denied.contains(path)));
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_paths_exclude_denied_paths_and_their_ancestors() {
        let root = tempfile::tempdir().expect("temporary directory");
        let root = fs::canonicalize(root.path()).expect("canonical path");
        let at = |path: &str| root.join(path);
        fs::create_dir_all(at("a/b/denied/inner")).expect("create directory");
        fs::create_dir_all(at("a/sibling")).expect("create directory");
        fs::create_dir_all(at("c")).expect("create directory");
        fs::write(at("a/file"), "").expect("write file");
        let allowed: BTreeSet<PathBuf> =
            allowed_paths(&[at("a/b/denied"), at("a/b/denied/inner"), at("a/file")])
                .into_iter()
                .filter(|path| path.starts_with(&root))
                .collect();
        assert_eq!(allowed, BTreeSet::from([at("a/sibling"), at("c")]));
    }

    #[test]
    fn own_directory_that_contains_a_denied_path_is_an_error() {
        let root = tempfile::tempdir().expect("temporary directory");
        let (workspace, state) = (root.path().join("work"), root.path().join("work/state"));
        fs::create_dir_all(state.join("session")).expect("create directory");
        let deny = DenyList { paths: vec![state.clone(), root.path().join("missing")], ports: vec![] };
        let error = deny.resolve(&[workspace]).expect_err("it contains the state directory");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let denied = deny.resolve(&[state.join("session")]).expect("own directory below a denied one");
        assert_eq!(denied, [fs::canonicalize(&state).expect("canonical path")]);
    }
}
