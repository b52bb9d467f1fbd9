//! Workspaces from uploaded bundles, hostile ones included.

use std::io::Write;
use std::process::Stdio;

use super::*;

const BASE: &str = "refs/guildhall/base";

impl TestHost {
    /// Puts a bundle where a download puts it, and creates the workspace.
    async fn unpack(&self, session: &str, bundle: &[u8]) -> Result<PathBuf, WorkspaceError> {
        fs::create_dir_all(&self.dirs.bundles).expect("create directory");
        fs::write(self.dirs.bundle_file(session), bundle).expect("write file");
        let reference = json!({ "kind": "bundle", "sizeBytes": bundle.len(), "sha256": "0a".repeat(32) });
        let unpacked = self.prepare(session, reference).await;
        assert!(!self.dirs.bundle_file(session).exists(), "the bundle is deleted");
        unpacked
    }

    /// Returns a bundle with the base and `HEAD` of a repository.
    fn bundle(&self, repo: &Path, references: &[&str]) -> Vec<u8> {
        let file = self.at("bundle");
        let path = file.display().to_string();
        self.git(repo, &[&["bundle", "create", "-q", &path], references].concat());
        fs::read(file).expect("readable")
    }

    /// Returns a bundle whose base has a tree that git itself would not create.
    fn bundle_of_tree(&self, repo: &Path, tree: &[u8]) -> Vec<u8> {
        let mut hash = Command::new("git");
        hash.args(["hash-object", "-t", "tree", "--literally", "-w", "--stdin"]).current_dir(repo);
        let mut child = hash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start git");
        child.stdin.take().expect("piped").write_all(tree).expect("written");
        let output = child.wait_with_output().expect("ended");
        let tree = String::from_utf8(output.stdout).expect("text").trim().to_owned();
        let commit = self.git(repo, &["commit-tree", &tree, "-m", "hostile"]);
        self.git(repo, &["update-ref", BASE, &commit]);
        self.bundle(repo, &[BASE])
    }

    fn object_id(&self, repo: &Path, name: &str) -> Vec<u8> {
        let id = self.git(repo, &["rev-parse", name]);
        (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("hex")).collect()
    }

    /// Returns the names in the folder of workspaces.
    fn workspaces(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("made")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().expect("text")).collect()
    }
}

/// Creates a repository whose base has a change that `HEAD` does not have.
fn repository_with_base(host: &TestHost) -> PathBuf {
    let (repo, _) = host.repository("root/repo");
    let head = host.git(&repo, &["rev-parse", "HEAD"]);
    fs::write(repo.join("two.txt"), "not committed\r\n").expect("write file");
    fs::write(repo.join("new.txt"), "new").expect("write file");
    host.git(&repo, &["add", "."]);
    let tree = host.git(&repo, &["write-tree"]);
    let base = host.git(&repo, &["commit-tree", &tree, "-p", &head, "-m", "base"]);
    host.git(&repo, &["update-ref", BASE, &base]);
    repo
}

#[tokio::test]
async fn uploaded_bundle_has_its_commits_and_its_working_tree() {
    let host = TestHost::new();
    let repo = repository_with_base(&host);
    let bundle = host.bundle(&repo, &[BASE, "HEAD", "refs/heads/main"]);
    let made = host.unpack("a", &bundle).await.expect("a workspace");
    assert_eq!(host.git(&made, &["rev-parse", "HEAD"]), host.git(&repo, &["rev-parse", "HEAD"]));
    assert_eq!(host.git(&made, &["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(host.git(&made, &["status", "--short"]), "M two.txt\n?? new.txt");
    assert_eq!(fs::read(made.join("two.txt")).expect("readable"), b"not committed\r\n");
    assert_eq!(host.git(&made, &["remote"]), "");
    let reference = json!({ "kind": "bundle", "sizeBytes": bundle.len(), "sha256": "0a".repeat(32) });
    let baseline = Baseline::open(&host.dirs, "a", &reference).expect("a baseline");
    assert_eq!(
        baseline.diff(&made).await.expect("a diff"),
        b"",
        "changes of the user are not those of the agent"
    );
    fs::write(made.join("new.txt"), "newer").expect("write file");
    let diff = String::from_utf8(baseline.diff(&made).await.expect("a diff")).expect("text");
    assert!(diff.contains("-new\n") && diff.contains("+newer\n") && !diff.contains("two.txt"), "{diff}");
    // The next run of the session needs no bundle.
    assert_eq!(host.prepare("a", reference).await.expect("the same workspace"), made);
}

#[tokio::test]
async fn bundle_of_a_repository_without_commits_works() {
    let host = TestHost::new();
    let repo = repository_with_base(&host);
    let made = host.unpack("a", &host.bundle(&repo, &[BASE])).await.expect("a workspace");
    assert_eq!(fs::read(made.join("new.txt")).expect("readable"), b"new");
}

#[tokio::test]
async fn hostile_paths_in_a_bundle_write_nothing() {
    let host = TestHost::new();
    let repo = repository_with_base(&host);
    let (blob, dir) = (host.object_id(&repo, "HEAD:two.txt"), host.object_id(&repo, "HEAD:src"));
    let entry = |mode: &str, name: &str, id: &[u8]| [format!("{mode} {name}\0").as_bytes(), id].concat();
    let cases = [
        entry("40000", ".git", &dir),
        entry("40000", ".GIT", &dir),
        entry("100644", "../evil", &blob),
        entry("100644", "..", &blob),
        entry("40000", "..", &dir),
        entry("100644", "/evil", &blob),
        entry("100644", "a/.git/config", &blob),
    ];
    for (number, tree) in cases.iter().enumerate() {
        let session = format!("s{number}");
        let bundle = host.bundle_of_tree(&repo, tree);
        let result = host.unpack(&session, &bundle).await;
        // `.GIT` is another name than `.git` on this file system.
        if let (1, Ok(made)) = (number, &result) {
            assert!(!made.join(".git/one.txt").exists());
            continue;
        }
        assert!(matches!(result, Err(WorkspaceError::GitFailed(_))), "{number}: {result:?}");
        assert!(!host.at("made").join(&session).exists(), "{number}");
    }
    for path in ["evil", "made/evil", "made/config"] {
        assert!(!host.at(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn hostile_references_and_damaged_bundles_are_rejected() {
    let host = TestHost::new();
    let repo = repository_with_base(&host);
    let bundle = host.bundle(&repo, &[BASE, "HEAD"]);
    let renamed = |name: &str| {
        let at = bundle.windows(BASE.len()).position(|part| part == BASE.as_bytes()).expect("the base");
        [&bundle[..at], name.as_bytes(), &bundle[at + BASE.len()..]].concat()
    };
    let damaged = [&bundle[..bundle.len() - 30], &[0; 30]].concat();
    let option = renamed("--upload-pack=touch evil");
    let cases = [
        renamed("refs/guildhall/../../../evil"),
        renamed("refs/heads/../../evil"),
        renamed("refs/heads/other"),
        option,
        damaged,
        bundle[..bundle.len() / 2].to_vec(),
        b"# v2 git bundle\n".to_vec(),
        b"not a bundle".to_vec(),
    ];
    for (number, case) in cases.iter().enumerate() {
        let result = host.unpack(&format!("s{number}"), case).await;
        assert!(matches!(result, Err(WorkspaceError::GitFailed(_))), "{number}: {result:?}");
    }
    assert_eq!(host.workspaces(), Vec::<String>::new());
    let wrong_size = json!({ "kind": "bundle", "sizeBytes": bundle.len() + 1, "sha256": "0a".repeat(32) });
    fs::write(host.dirs.bundle_file("s"), &bundle).expect("write file");
    let result = host.prepare("s", wrong_size).await;
    assert!(matches!(result, Err(WorkspaceError::DamagedBundle)), "{result:?}");
}

#[tokio::test]
async fn bundle_that_unpacks_to_more_than_the_limits_is_rejected() {
    let host = TestHost::new();
    let repo = repository_with_base(&host);
    let commit_base = || {
        host.git(&repo, &["add", "."]);
        let tree = host.git(&repo, &["write-tree"]);
        let base = host.git(&repo, &["commit-tree", &tree, "-m", "base"]);
        host.git(&repo, &["update-ref", BASE, &base]);
        host.bundle(&repo, &[BASE])
    };
    fs::write(repo.join("zeros"), vec![0; 3 << 20]).expect("write file");
    let bundle = commit_base();
    assert!(bundle.len() < 20_000, "it is small before it is unpacked: {}", bundle.len());
    let large = host.unpack("a", &bundle).await;
    fs::remove_file(repo.join("zeros")).expect("removed");
    for number in 0..101 {
        fs::write(repo.join(format!("file-{number}")), "").expect("write file");
    }
    let many = host.unpack("b", &commit_base()).await;
    for number in 0..101 {
        fs::remove_file(repo.join(format!("file-{number}"))).expect("removed");
    }
    let deep: PathBuf = std::iter::repeat_n("d", 101).collect();
    fs::create_dir_all(repo.join(&deep)).expect("create directories");
    fs::write(repo.join(&deep).join("file"), "").expect("write file");
    let directories = host.unpack("c", &commit_base()).await;
    for result in [large, many, directories] {
        assert!(matches!(result, Err(WorkspaceError::WorkspaceTooLarge)), "{result:?}");
    }
    assert_eq!(host.workspaces(), Vec::<String>::new());
    for session in ["a", "b", "c"] {
        assert!(!host.dirs.baselines.join(session).exists(), "the objects of the bundle are deleted");
    }
}
