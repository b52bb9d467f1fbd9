//! Private copies of repositories, and their changes.

use std::collections::BTreeMap;

use super::*;

impl TestHost {
    async fn copy(&self, session: &str, source: &Path) -> Result<PathBuf, WorkspaceError> {
        self.prepare(session, json!({ "kind": "copy", "path": source })).await
    }

    /// Returns the changes of a copied workspace.
    async fn diff(&self, session: &str, source: &Path) -> String {
        let reference = json!({ "kind": "copy", "path": source });
        let baseline = Baseline::open(&self.dirs, session, &reference).expect("a baseline");
        let diff = baseline.diff(&self.at("made").join(session)).await.expect("a diff");
        String::from_utf8(diff).expect("text")
    }
}

/// Returns the files of a directory with their mode and content or link target, without `.git`.
fn files_of(dir: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut files = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).expect("readable").flatten() {
            let (path, metadata) = (entry.path(), fs::symlink_metadata(entry.path()).expect("metadata"));
            if metadata.is_dir() {
                if entry.file_name() != ".git" {
                    dirs.push(path);
                }
                continue;
            }
            let content = if metadata.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).expect("readable")
            };
            let name = path.strip_prefix(dir).expect("below").to_owned();
            files.insert(name, (metadata.permissions().mode() & 0o100, content));
        }
    }
    files
}

#[tokio::test]
async fn copy_has_the_working_tree_as_it_is_without_ignored_files() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    fs::write(source.join(".gitattributes"), "* text=auto eol=crlf ident\n").expect("write file");
    fs::write(source.join(".gitignore"), "/target\n").expect("write file");
    host.git(&source, &["add", "."]);
    host.git(&source, &["commit", "-q", "-m", "three"]);
    fs::write(source.join("two.txt"), "changed\r\nnot committed\n$Id$\n").expect("write file");
    fs::remove_file(source.join("src/one.txt")).expect("remove file");
    fs::write(source.join("new.bin"), [0, 13, 10, 255]).expect("write file");
    fs::set_permissions(source.join("new.bin"), fs::Permissions::from_mode(0o755)).expect("set permissions");
    symlink("/etc/passwd", source.join("link")).expect("create symlink");
    fs::write(source.join("staged"), "staged").expect("write file");
    host.git(&source, &["add", "staged"]);
    let expected = files_of(&source);
    fs::create_dir(source.join("target")).expect("create directory");
    fs::write(source.join("target/out"), "ignored").expect("write file");
    fs::create_dir_all(source.join(".git/info")).expect("create directory");
    fs::write(source.join(".git/info/exclude"), "notes.txt\n").expect("write file");
    fs::write(source.join("notes.txt"), "excluded").expect("write file");
    let status = host.git(&source, &["status", "--short"]);

    let copy = host.copy("a", &source).await.expect("a copy");
    assert_eq!(files_of(&copy), expected);
    let head = |repo: &Path| host.git(repo, &["rev-parse", "HEAD"]);
    assert_eq!(head(&copy), head(&source));
    assert_eq!(host.git(&copy, &["remote"]), "");
    assert!(!copy.join(".git/objects/info/alternates").exists(), "the copy has its own objects");
    assert_eq!(host.git(&source, &["status", "--short"]), status, "the source is unchanged");
    assert_eq!(host.diff("a", &source).await, "", "changes of the user are not changes of the agent");
}

#[tokio::test]
async fn diff_of_a_copy_applies_to_its_source() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    fs::write(source.join("two.txt"), "not committed\n").expect("write file");
    let copy = host.copy("a", &source).await.expect("a copy");
    fs::write(copy.join("two.txt"), "not committed\nfixed\n").expect("write file");
    fs::write(copy.join("added.bin"), [0, 159, 146, 150]).expect("write file");
    fs::remove_file(copy.join("src/one.txt")).expect("remove file");
    // What the agent commits counts, too.
    host.git(&copy, &["add", "."]);
    host.git(&copy, &["commit", "-q", "-m", "by the agent"]);
    symlink("two.txt", copy.join("link")).expect("create symlink");
    fs::write(host.at("changes.diff"), host.diff("a", &source).await).expect("write file");
    host.git(&source, &["apply", "../../changes.diff"]);
    assert_eq!(files_of(&source), files_of(&copy));
    let again = host.copy("a", &source).await.expect("the same copy");
    assert_eq!(again, copy);
}

#[tokio::test]
async fn diff_works_after_a_killed_runner_left_its_lock() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    let copy = host.copy("a", &source).await.expect("a copy");
    fs::write(host.at("baselines/a/index.lock"), "").expect("write file");
    fs::write(copy.join("two.txt"), "changed").expect("write file");
    assert!(host.diff("a", &source).await.contains("+changed"));
}

#[tokio::test]
async fn copy_of_a_repository_without_commits_works() {
    let host = TestHost::new();
    let source = host.at("root/empty");
    fs::create_dir_all(&source).expect("create directory");
    host.git(&source, &["init", "-q", "-b", "main"]);
    fs::write(source.join("draft.txt"), "draft").expect("write file");
    let copy = host.copy("a", &source).await.expect("a copy");
    assert_eq!(files_of(&copy), files_of(&source));
    fs::write(copy.join("draft.txt"), "final").expect("write file");
    assert!(host.diff("a", &source).await.contains("+final"));
}

/// Plants everything into a repository that git would execute. Returns the file that it would create.
fn plant_traps(host: &TestHost, repo: &Path) -> PathBuf {
    let trap = host.at("triggered");
    let touch = format!("touch {}; cat", trap.display());
    let mut config = fs::read_to_string(repo.join(".git/config")).expect("a configuration");
    for (section, key) in [
        ("core", "fsmonitor"),
        ("core", "sshCommand"),
        ("core", "pager"),
        ("uploadpack", "packObjectsHook"),
        ("diff", "external"),
        ("filter \"evil\"", "clean"),
        ("filter \"evil\"", "smudge"),
        ("filter \"evil\"", "process"),
        ("diff \"evil\"", "command"),
        ("diff \"evil\"", "textconv"),
        ("merge \"evil\"", "driver"),
    ] {
        config.push_str(&format!("[{section}]\n\t{key} = \"{touch}\"\n"));
    }
    config.push_str(&format!("[core]\n\thooksPath = {}\n", repo.join("hooks").display()));
    fs::write(repo.join(".git/config"), config).expect("write file");
    for dir in [repo.join("hooks"), repo.join(".git/hooks")] {
        fs::create_dir_all(&dir).expect("create directory");
        for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"] {
            fs::write(dir.join(hook), format!("#!/bin/sh\n{touch}\n")).expect("write hook");
            fs::set_permissions(dir.join(hook), fs::Permissions::from_mode(0o755)).expect("set permissions");
        }
    }
    fs::write(repo.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").expect("write file");
    fs::write(repo.join(".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ext::touch x\n")
        .expect("write file");
    trap
}

#[tokio::test]
async fn copy_and_diff_execute_nothing_of_the_repositories() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    let trap = plant_traps(&host, &source);
    let copy = host.copy("a", &source).await.expect("a copy");
    assert!(!trap.exists(), "the copy executed something of its source");
    plant_traps(&host, &copy);
    fs::write(copy.join("two.txt"), "changed").expect("write file");
    let diff = host.diff("a", &source).await;
    assert!(!trap.exists(), "the diff executed something of the workspace");
    assert!(diff.contains("+changed"), "{diff}");
    // The traps work: git with the configuration of the workspace triggers one.
    let _status = Command::new("git").args(["diff"]).current_dir(&copy).output().expect("run git");
    assert!(trap.exists());
}

#[tokio::test]
async fn copy_needs_the_top_directory_of_an_allowed_repository() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    host.repository("private/repo");
    host.git(&source, &["worktree", "add", "-q", "../worktree", "first"]);
    for path in [source.join("src"), host.at("root/notes"), host.at("root/worktree")] {
        let result = host.copy("a", &path).await;
        assert!(matches!(result, Err(WorkspaceError::InvalidRepository(_))), "{result:?}");
    }
    let result = host.copy("a", &host.at("private/repo")).await;
    assert!(matches!(result, Err(WorkspaceError::NotAllowed)), "{result:?}");
    assert!(!host.at("made/a").exists());
}
