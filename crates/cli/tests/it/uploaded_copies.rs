//! Work on a repository that the server does not have: it is uploaded as a Git bundle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::json;
use tempfile::TempDir;

use crate::launched_runners::start_server;
use crate::own_repository::{create_repository, git, git_output};
use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// A repository, and a server whose runners may read no folder.
struct RemoteServer {
    dir: PathBuf,
    user: CliUser,
    server: DevServer,
    _folder: TempDir,
}

impl RemoteServer {
    fn start(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = create_repository(folder.path());
        let (server, user) = start_server(settings);
        Self { dir, user, server, _folder: folder }
    }

    /// Runs `guildhall run` in the repository.
    fn run(&self, args: &[&str]) -> Output {
        self.run_in(&self.dir, args)
    }

    fn run_in(&self, dir: &Path, args: &[&str]) -> Output {
        let args = [&["run", "--profile", "demo", "--approval", "never"], args].concat();
        self.user.command(&args).current_dir(dir).output().expect("the command runs")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.dir.join(file)).expect("a file")
    }

    /// Returns the names in a folder of the runners' storage.
    fn stored(&self, folder: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.server.state.join("launcher/storage").join(folder));
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

#[test]
fn folder_that_the_server_does_not_have_is_uploaded_and_its_diff_applied() {
    let remote = RemoteServer::start(&[]);
    fs::write(remote.dir.join(".gitignore"), "secret.env\n").expect("a file");
    fs::write(remote.dir.join("secret.env"), "canary-2210").expect("a file");
    let before = git_output(&remote.dir, &["status", "--porcelain"]);
    let objects = git_output(&remote.dir, &["count-objects", "-v"]);
    let fix = "run:test ! -e secret.env && test \"$(git log --format=%s)\" = one && grep -q committed draft.txt && \
               git status --porcelain | grep -q '?? draft.txt' && echo 42 > answer && sh test.sh && rm draft.txt";
    let done = remote.run(&[fix]);
    let output = format!("{}{}", stdout(&done), stderr(&done));
    assert_eq!(done.status.code(), Some(0), "{output}");
    let first = format!(
        "demo works on an uploaded copy of {} (with 2 files that are not committed)\n",
        remote.dir.display()
    );
    assert!(output.starts_with(&first), "{output}");
    assert!(output.contains("It ended with 0.") && output.contains("-41\n+42\n"), "{output}");
    assert_eq!(remote.read("answer"), "41\n", "nothing is applied without being asked for");
    assert_eq!(git_output(&remote.dir, &["status", "--porcelain"]), before);
    assert_eq!(git_output(&remote.dir, &["count-objects", "-v"]), objects, "the repository is unchanged");

    let runs = remote.user.json(&["runs", "ls", "--all"]);
    let run = runs["runs"][0]["runId"].as_str().expect("a run").to_owned();
    let applied =
        remote.user.command(&["runs", "apply", &run]).current_dir(&remote.dir).output().expect("applied");
    assert_eq!(stdout(&applied), "applied:\n  answer\n  draft.txt\n", "{}", stderr(&applied));
    assert_eq!((remote.read("answer").as_str(), remote.dir.join("draft.txt").exists()), ("42\n", false));
    assert_eq!(remote.stored("bundles"), Vec::<PathBuf>::new(), "the runner deletes the bundle");
}

#[test]
fn upload_without_history_is_used_where_the_history_is_too_large() {
    let remote = RemoteServer::start(&[("GUILDHALL_RUNS_MAX_BUNDLE_BYTES", "20000")]);
    let mut random: u32 = 7;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random.to_be_bytes()[0]
    })
    .take(40_000)
    .collect();
    fs::write(remote.dir.join("noise"), &noise).expect("a file");
    git(&remote.dir, &["add", "noise"]);
    git(&remote.dir, &["commit", "-q", "-m", "noise"]);
    git(&remote.dir, &["rm", "-q", "noise"]);
    git(&remote.dir, &["commit", "-q", "-m", "no noise"]);
    let look = "run:test \"$(git log --format=%s)\" = 'The history was not uploaded' && \
                git status --porcelain | grep -q '?? draft.txt'";
    let done = remote.run(&[look, "--upload"]);
    let output = format!("{}{}", stdout(&done), stderr(&done));
    assert_eq!(done.status.code(), Some(0), "{output}");
    assert!(output.contains("(with 1 file that is not committed, without its history)"), "{output}");
    assert!(output.contains("It ended with 0."), "{output}");

    fs::write(remote.dir.join("noise"), &noise).expect("a file");
    let refused = remote.run(&["run:ls"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    let reason = "workspaceRef.sizeBytes: ";
    assert!(
        stderr(&refused).contains(reason) && stderr(&refused).contains("at most 20000"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn run_with_an_uploaded_copy_takes_further_turns() {
    let remote = RemoteServer::start(&[]);
    let done = remote.run(&["run:true", "--keep-open"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let runs = remote.user.json(&["runs", "ls"]);
    let run = runs["runs"][0]["runId"].as_str().expect("a run").to_owned();
    assert_eq!(runs["runs"][0]["workspaceRef"]["kind"], json!("bundle"));
    // A second turn works in the same workspace.
    let again = remote.user.run(&["runs", "send", &run, "run:grep -q committed draft.txt", "--watch"]);
    assert!(stdout(&again).contains("It ended with 0."), "{}{}", stdout(&again), stderr(&again));
    let closed = remote.user.run(&["runs", "close", &run]);
    assert_eq!(closed.status.code(), Some(0), "{}", stderr(&closed));
}

/// A linked worktree and a repository without commits cannot be copied on the server, but uploaded.
#[test]
fn linked_worktree_and_empty_repository_are_uploaded() {
    let remote = RemoteServer::start(&[]);
    let worktree = remote.dir.with_file_name("linked");
    git(&remote.dir, &["worktree", "add", "-q", "-b", "side", &worktree.display().to_string()]);
    let done = remote
        .run_in(&worktree, &["run:test $(git branch --show-current) = side && echo 42 > answer", "--apply"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", stdout(&done), stderr(&done));
    assert_eq!(fs::read_to_string(worktree.join("answer")).expect("a file"), "42\n");
    let empty = remote.dir.with_file_name("empty");
    fs::create_dir(&empty).expect("a folder");
    git(&empty, &["init", "-q"]);
    fs::write(empty.join("first"), "one\n").expect("a file");
    let done = remote.run_in(&empty, &["run:cat first && echo two > second", "--apply"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", stdout(&done), stderr(&done));
    assert_eq!(fs::read_to_string(empty.join("second")).expect("a file"), "two\n");
}
