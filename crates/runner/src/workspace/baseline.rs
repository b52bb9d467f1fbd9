//! The files of a workspace at its start, in a repository of the runner that agents cannot access. What an agent changed
//! is the difference to them.
//!
//! Git compares with its own configuration: hooks, filters and attributes of the workspace have no effect.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use guildhall_domain::runs::diff::MAX_DIFF_BYTES;
use guildhall_domain::runs::policy::WorkspaceRef;
use serde_json::Value;

use super::error::WorkspaceError;
use super::git_command::{GitCommand, GitNetwork};
use super::{WorkspaceDirs, WorkspaceLimits, allowed_path};
use crate::sandbox::{Containment, create_dir};

/// The tree of the files at the start.
const BASE: &str = "refs/guildhall/base";

/// The commit of a bundle, until its tree is recorded.
const BUNDLE: &str = "refs/guildhall/bundle";

/// The list of all files with their sizes.
const MAX_LIST_BYTES: u64 = 128 * 1024 * 1024;

/// Comes before the attributes of the workspace: bytes are copied and compared as they are.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding !eol !diff !merge\n";

/// A bare repository with the files of a workspace at its start.
#[derive(Debug, Clone)]
pub struct Baseline {
    dir: PathBuf,
    containment: Containment,
    /// The repository whose objects it uses.
    source: Option<PathBuf>,
}

impl Baseline {
    /// Returns the baseline of a session's workspace, where it has one.
    #[must_use]
    pub fn open(dirs: &WorkspaceDirs, session: &str, reference: &Value) -> Option<Self> {
        let dir = dirs.baselines.join(session);
        let source = match serde_json::from_value(reference.clone()).ok()? {
            WorkspaceRef::Copy { path } => Some(allowed_path::resolve_working_tree(dirs, &path).ok()?),
            WorkspaceRef::Git { .. } | WorkspaceRef::Bundle(_) => None,
            WorkspaceRef::Empty | WorkspaceRef::Directory { .. } | WorkspaceRef::GitBundle { .. } => {
                return None;
            }
        };
        dir.is_dir().then(|| Self { dir, containment: dirs.containment.clone(), source })
    }

    /// Creates the repository, instead of one that a killed runner left. It uses the objects of `source`, if any.
    pub(super) async fn create(
        containment: &Containment,
        dir: &Path,
        source: Option<&Path>,
    ) -> Result<Self, WorkspaceError> {
        super::remove_dir_if_exists(dir).await?;
        create_dir(dir, containment.program_user())?;
        let baseline = Self {
            dir: dir.to_owned(),
            containment: containment.clone(),
            source: source.map(Path::to_owned),
        };
        let init = ["init", "--quiet", "--bare", "--template="];
        baseline.git(&[], &[]).run(&init, "create the baseline").await?;
        fs::create_dir_all(dir.join("info"))?;
        fs::write(dir.join("info/attributes"), ATTRIBUTES)?;
        if let Some(source) = source {
            let objects = source.join(".git/objects");
            let line = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
            fs::create_dir_all(dir.join("objects/info"))?;
            fs::write(dir.join("objects/info/alternates"), line)?;
        }
        Ok(baseline)
    }

    /// Records the files of a directory: those of a commit and those that are not ignored.
    pub(super) async fn record(&self, files: &Path, commit: Option<&str>) -> Result<(), WorkspaceError> {
        let mut git = self.git(&[files], &[]);
        git.environment.push(("GIT_WORK_TREE", files.into()));
        if let Some(commit) = commit {
            git.run(&["read-tree", commit], "read the commit").await?;
        }
        add_all(&mut git, files).await?;
        let tree = git.output(&["write-tree"], "write the tree", 100).await?;
        let tree = tree.ok_or(WorkspaceError::GitFailed("write the tree"))?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        git.run(&["update-ref", BASE, &tree], "record the tree").await
    }

    /// Records the files of a bundle. Their number and size are checked before any of them is written.
    pub(super) async fn fetch(&self, bundle: &Path, limits: WorkspaceLimits) -> Result<(), WorkspaceError> {
        let git = self.git(&[bundle], &[]);
        let refspec = format!("+{BASE}:{BUNDLE}");
        let options =
            ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--"];
        let fetch = options.iter().map(OsStr::new).chain([bundle.as_os_str(), OsStr::new(&refspec)]);
        git.run(&fetch.collect::<Vec<_>>(), "read the bundle").await?;
        // Not `--format`, which needs Git 2.36: Ubuntu 22.04 has 2.34.
        let list = ["ls-tree", "-r", "-t", "--long", "-z", BUNDLE];
        let files = git.output(&list, "list the files", MAX_LIST_BYTES + 1).await?;
        let files = files.ok_or(WorkspaceError::GitFailed("list the files"))?;
        check_sizes(&files, limits)?;
        // Fails for paths that lead out of the workspace, or into `.git`.
        git.run(&["read-tree", BUNDLE], "read the files").await?;
        git.run(&["update-ref", BASE, &format!("{BUNDLE}^{{tree}}")], "record the tree").await?;
        git.run(&["update-ref", "-d", BUNDLE], "record the tree").await
    }

    /// Writes the recorded files into a directory.
    pub(super) async fn check_out(&self, into: &Path) -> Result<(), WorkspaceError> {
        let mut git = self.git(&[], &[into]);
        git.environment.push(("GIT_WORK_TREE", into.into()));
        git.run(&["checkout-index", "--all", "--force", "--index"], "write the files").await
    }

    /// Returns the changes of a workspace since its start, as a binary diff for `git apply`.
    pub async fn diff(&self, workspace: &Path) -> Result<Vec<u8>, WorkspaceError> {
        // A killed runner leaves its lock. Only the runner that holds the run of the session is here.
        match fs::remove_file(self.dir.join("index.lock")) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        let mut git = self.git(&[workspace], &[]);
        git.environment.push(("GIT_WORK_TREE", workspace.into()));
        add_all(&mut git, workspace).await?;
        let options =
            ["--cached", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color"];
        let diff = [["diff"].as_slice(), &options, &[BASE]].concat();
        let diff = git.output(&diff, "compare the files", MAX_DIFF_BYTES as u64 + 1).await?;
        let diff = diff.ok_or(WorkspaceError::GitFailed("compare the files"))?;
        if diff.len() > MAX_DIFF_BYTES { Err(WorkspaceError::DiffTooLarge) } else { Ok(diff) }
    }

    fn git(&self, readable: &[&Path], writable: &[&Path]) -> GitCommand<'_> {
        let paths = |paths: &[&Path]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let mut readable = paths(readable);
        readable.extend(self.source.clone().filter(|source| !readable.contains(source)));
        GitCommand {
            containment: &self.containment,
            readable,
            writable: [vec![self.dir.clone()], paths(writable)].concat(),
            environment: vec![("GIT_DIR", self.dir.clone().into())],
            config: Vec::new(),
            network: GitNetwork::None,
        }
    }
}

/// Checks the number and the sum of sizes in a list of `git ls-tree --long -z`: mode, type, id, size, tab, path, NUL.
/// Directories count as files; they and submodules have no size.
fn check_sizes(list: &[u8], limits: WorkspaceLimits) -> Result<(), WorkspaceError> {
    let (mut bytes, mut files): (u64, u64) = (0, 0);
    for entry in list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let fields = entry.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let size =
            String::from_utf8_lossy(fields).split_whitespace().nth(3).and_then(|size| size.parse().ok());
        bytes = bytes.saturating_add(size.unwrap_or_default());
        files += 1;
    }
    let is_complete = list.len() as u64 <= MAX_LIST_BYTES;
    if is_complete && bytes <= limits.bytes && files <= limits.files {
        Ok(())
    } else {
        Err(WorkspaceError::WorkspaceTooLarge)
    }
}

/// Adds all files to the index that are not ignored, also by `.git/info/exclude`.
async fn add_all(git: &mut GitCommand<'_>, files: &Path) -> Result<(), WorkspaceError> {
    let mut excludes = OsString::from("core.excludesFile=");
    excludes.push(files.join(".git/info/exclude"));
    git.config = vec![excludes];
    git.run(&["add", "--all"], "read the files").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_directories_of_a_list_count_for_the_limits() {
        let entries = [
            "040000 tree aa       -\tdocs",
            "100644 blob bb     700\tdocs/a\tb 9",
            "160000 commit cc       -\tsub",
            "100755 blob dd 300\tline\nbreak",
        ];
        let list = entries.map(|entry| format!("{entry}\0")).concat();
        let fits = |bytes, files| check_sizes(list.as_bytes(), WorkspaceLimits { bytes, files }).is_ok();
        assert_eq!(
            [fits(1000, 4), fits(999, 4), fits(1000, 3)],
            [true, false, false],
            "1,000 bytes in four files"
        );
    }
}
