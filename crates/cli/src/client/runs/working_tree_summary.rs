//! What a copy of a repository contains, and what it leaves out.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use crate::output::sanitize_text;

/// Repositories that are listed by name.
const MAX_NAMES: usize = 3;

/// The start of a file that stands for one in Git LFS.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// A summary of a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkingTreeSummary {
    /// Files that are not committed.
    uncommitted: usize,
    /// Submodules and other repositories inside of this one, whose files are not copied.
    inner_repositories: Vec<String>,
    /// Files whose content is in Git LFS and not on this machine.
    lfs_pointers: usize,
}

impl WorkingTreeSummary {
    /// Reads the state of a repository; `None` if git fails.
    pub(super) fn read(repository: &Path) -> Option<Self> {
        let git = |arguments: &[&str]| list(repository, arguments);
        let uncommitted = git(&["status", "--porcelain", "-z", "--no-renames"])?.len();
        let tracked = git(&["ls-files", "-z", "--stage"])?;
        let submodules = tracked.iter().filter_map(|line| line.strip_prefix("160000 ")?.split_once('\t'));
        let mut inner_repositories: Vec<String> = submodules.map(|(_, path)| path.to_owned()).collect();
        let untracked = git(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        // Git lists an untracked repository, but not its files.
        inner_repositories
            .extend(untracked.iter().filter_map(|path| path.strip_suffix('/')).map(str::to_owned));
        let lfs_files = git(&["ls-files", "-z", "--", ":(attr:filter=lfs)"])?;
        let lfs_pointers = lfs_files.iter().filter(|path| is_lfs_pointer(&repository.join(path))).count();
        Some(Self { uncommitted, inner_repositories, lfs_pointers })
    }
}

impl fmt::Display for WorkingTreeSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uncommitted {
            0 => f.write_str("everything is committed")?,
            1 => f.write_str("with 1 file that is not committed")?,
            count => write!(f, "with {count} files that are not committed")?,
        }
        if let Some((first, others)) = self.inner_repositories.split_first() {
            write!(f, "; without the files of the repositories inside it: {}", sanitize_text(first))?;
            for name in others.iter().take(MAX_NAMES - 1) {
                write!(f, ", {}", sanitize_text(name))?;
            }
            if self.inner_repositories.len() > MAX_NAMES {
                write!(f, " and {} more", self.inner_repositories.len() - MAX_NAMES)?;
            }
        }
        match self.lfs_pointers {
            0 => Ok(()),
            1 => f.write_str("; 1 Git LFS file is only a pointer: `git lfs pull` fetches its content"),
            count => {
                write!(f, "; {count} Git LFS files are only pointers: `git lfs pull` fetches their content")
            }
        }
    }
}

/// Runs git and returns the parts of its output that end with a zero byte.
fn list(repository: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("git").args(arguments).current_dir(repository).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output
        .status
        .success()
        .then(|| text.split('\0').filter(|part| !part.is_empty()).map(str::to_owned).collect())
}

fn is_lfs_pointer(path: &Path) -> bool {
    let mut start = [0; LFS_POINTER.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *LFS_POINTER
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
        let output = command.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    #[test]
    fn contents_name_what_is_not_copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let (repository, inner) = (dir.path(), dir.path().join("vendor/inner"));
        git(repository, &["init", "-q"]);
        fs::write(repository.join(".gitattributes"), "*.bin filter=lfs\n").expect("write file");
        git(repository, &["add", "."]);
        git(repository, &["commit", "-q", "-m", "one"]);
        assert_eq!(
            WorkingTreeSummary::read(repository).map(|found| found.to_string()).as_deref(),
            Some("everything is committed")
        );

        let head = git(repository, &["rev-parse", "HEAD"]);
        git(repository, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},lib/module")]);
        fs::create_dir_all(&inner).expect("create directory");
        git(&inner, &["init", "-q"]);
        git(&inner, &["commit", "-q", "--allow-empty", "-m", "one"]);
        fs::write(repository.join("a.bin"), [LFS_POINTER, b"oid sha256:00\nsize 1\n"].concat())
            .expect("write file");
        fs::write(repository.join("b.bin"), "the content").expect("write file");
        git(repository, &["add", "a.bin", "b.bin"]);
        let found = WorkingTreeSummary::read(repository).expect("git works");
        assert_eq!(found.inner_repositories, ["lib/module", "vendor/inner"]);
        assert_eq!(found.lfs_pointers, 1);
        let text = found.to_string();
        assert!(
            text.ends_with(
                "; without the files of the repositories inside it: lib/module, vendor/inner; 1 Git LFS file is only a \
                 pointer: `git lfs pull` fetches its content"
            ),
            "{text}"
        );
    }

    #[test]
    fn long_list_of_inner_repositories_is_shortened() {
        let contents = WorkingTreeSummary {
            uncommitted: 2,
            inner_repositories: ["a", "b\u{1b}[2J", "c", "d", "e"].map(str::to_owned).to_vec(),
            lfs_pointers: 0,
        };
        let text = contents.to_string();
        assert!(text.starts_with(
            "with 2 files that are not committed; without the files of the repositories inside it: a, b"
        ));
        assert!(text.ends_with(", c and 2 more") && !text.contains('\u{1b}'), "{text}");
    }
}
