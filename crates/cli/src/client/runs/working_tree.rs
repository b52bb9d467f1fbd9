//! A Git bundle of a repository with its working tree as it is: with changes that are not committed, and untracked files
//! that are not ignored. The repository itself is not changed: new objects and references are in a temporary repository.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::output::sanitize_text;

/// The commit with the files of the working tree.
const BASE: &str = "refs/guildhall/base";

/// The branch of a repository whose `HEAD` is not on one.
const DEFAULT_BRANCH: &str = "main";

/// Comes before the attributes of the repository: bytes are uploaded as they are.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding !eol !diff !merge\n";

/// Which commits a bundle has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    /// All commits up to `HEAD`.
    Full,
    /// One commit with the files of `HEAD`.
    None,
}

/// A bundle to upload.
#[derive(Debug)]
pub(super) struct WorkingTreeBundle {
    pub(super) content: Vec<u8>,
    pub(super) history: History,
}

impl WorkingTreeBundle {
    /// Creates the bundle of a repository, by its top directory.
    pub(super) fn create(top: &Path, history: History) -> Result<Self> {
        let source = SourceRepository::read(top)?;
        let temporary = TemporaryRepository::create(&source)?;
        let tree = temporary.record_files(&source)?;
        let parent = match (&source.head, history) {
            (None, _) => None,
            (Some(head), History::Full) => Some(head.clone()),
            (Some(head), History::None) => {
                let message = "The history was not uploaded";
                Some(temporary.git(&["commit-tree", &format!("{head}^{{tree}}"), "-m", message])?)
            }
        };
        let mut commit = vec!["commit-tree", &tree, "-m", "The working tree"];
        commit.extend(parent.iter().flat_map(|parent| ["-p", parent.as_str()]));
        let base = temporary.git(&commit)?;
        temporary.git(&["update-ref", BASE, &base])?;
        let mut references = vec![BASE];
        let branch = format!("refs/heads/{}", source.branch);
        if let Some(parent) = &parent {
            temporary.git(&["update-ref", &branch, parent])?;
            references.extend(["HEAD", &branch]);
        }
        temporary.git(&["symbolic-ref", "HEAD", &branch])?;
        let file = temporary.folder.path().join("bundle");
        let path = file.to_str().context("the path of the temporary directory is not text")?;
        temporary.git(&[&["bundle", "create", "--quiet", path], references.as_slice()].concat())?;
        Ok(Self { content: fs::read(&file)?, history })
    }

    pub(super) fn sha256(&self) -> String {
        Sha256::digest(&self.content).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The repository of the user.
struct SourceRepository {
    top: PathBuf,
    objects: PathBuf,
    exclude: PathBuf,
    object_format: String,
    head: Option<String>,
    branch: String,
}

impl SourceRepository {
    fn read(top: &Path) -> Result<Self> {
        let ask = |arguments: &[&str]| run(git_in(top).args(arguments));
        let path = |name: &str| -> Result<PathBuf> {
            let path = ask(&["rev-parse", "--git-path", name])?;
            Ok(top.join(path))
        };
        Ok(Self {
            top: top.to_owned(),
            objects: path("objects")?,
            exclude: path("info/exclude")?,
            object_format: ask(&["rev-parse", "--show-object-format"])?,
            head: ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).ok(),
            branch: ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])
                .unwrap_or_else(|_| DEFAULT_BRANCH.to_owned()),
        })
    }
}

/// A bare repository that uses the objects of the user's one.
struct TemporaryRepository {
    folder: TempDir,
    dir: PathBuf,
}

impl TemporaryRepository {
    fn create(source: &SourceRepository) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot create a temporary directory")?;
        let dir = folder.path().join("repository");
        let format = format!("--object-format={}", source.object_format);
        let mut init = git_in(folder.path());
        run(init.args(["init", "--quiet", "--bare", "--template=", &format]).arg(&dir))?;
        for name in ["info", "objects/info"] {
            fs::create_dir_all(dir.join(name))?;
        }
        fs::write(dir.join("info/attributes"), ATTRIBUTES)?;
        fs::write(dir.join("info/exclude"), fs::read(&source.exclude).unwrap_or_default())?;
        let alternates = [source.objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
        fs::write(dir.join("objects/info/alternates"), alternates)?;
        Ok(Self { folder, dir })
    }

    /// Records the files of the working tree, and returns their tree.
    fn record_files(&self, source: &SourceRepository) -> Result<String> {
        let git = |arguments: &[&str]| {
            let mut command = self.command(arguments);
            run(command.current_dir(&source.top).env("GIT_WORK_TREE", &source.top))
        };
        if let Some(head) = &source.head {
            git(&["read-tree", head])?;
        }
        git(&["add", "--all"])?;
        git(&["write-tree"])
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        run(&mut self.command(arguments))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = git_in(self.folder.path());
        command.args(["-c", "core.fsmonitor=false", "-c", "core.autocrlf=false"]);
        command.args(["-c", "advice.addEmbeddedRepo=false"]).args(arguments).env("GIT_DIR", &self.dir);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Guildhall");
            command.env(format!("GIT_{role}_EMAIL"), "guildhall@localhost");
        }
        command
    }
}

fn git_in(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).stdin(Stdio::null());
    // Set in hooks, for example, and valid for the repository of the user only.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command
}

/// Runs git and returns its output without the line break.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start git: install it")?;
    if !output.status.success() {
        let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        let reason = sanitize_text(String::from_utf8_lossy(&output.stderr).trim());
        bail!("cannot bundle this repository: git {}: {reason}", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?.trim_end_matches('\n').to_owned())
}
