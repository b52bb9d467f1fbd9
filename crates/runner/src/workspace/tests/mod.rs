use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::*;

mod bundles;
mod copies;

/// A directory tree with an allowed root (`root`) and a private directory next to it.
struct TestHost {
    dir: TempDir,
    dirs: WorkspaceDirs,
}

impl TestHost {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let at = |name: &str| dir.path().join(name);
        for name in ["root/notes", "private"] {
            fs::create_dir_all(at(name)).expect("create directory");
        }
        fs::write(at("private/secret"), "hunter2").expect("write file");
        let dirs = WorkspaceDirs {
            managed: at("made"),
            baselines: at("baselines"),
            allowed_roots: vec![at("root")],
            tenant_patterns: None,
            containment: Containment::Uncontained,
            remotes: GitRemotes {
                hosts: Vec::new(),
                credentials: Vec::new(),
                known_hosts: None,
                tenant: TenantId::generate(),
                connector: Connector::default(),
                mirrors: at("mirrors"),
                max_bytes: 1 << 20,
            },
            bundles: at("bundles"),
            limits: WorkspaceLimits { bytes: 1 << 20, files: 100 },
        };
        Self { dir, dirs }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn git(&self, repo: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(repo)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("run git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Creates a repository with two commits and a branch `first` at the first one. Returns its path and the first
    /// commit.
    fn repository(&self, name: &str) -> (PathBuf, String) {
        let repo = self.at(name);
        fs::create_dir_all(repo.join("src")).expect("create directory");
        self.git(&repo, &["init", "-q", "-b", "main"]);
        fs::write(repo.join("src/one.txt"), "1").expect("write file");
        self.git(&repo, &["add", "."]);
        self.git(&repo, &["commit", "-q", "-m", "one"]);
        self.git(&repo, &["branch", "first"]);
        let first = self.git(&repo, &["rev-parse", "HEAD"]);
        fs::write(repo.join("two.txt"), "2").expect("write file");
        self.git(&repo, &["add", "."]);
        self.git(&repo, &["commit", "-q", "-m", "two"]);
        (repo, first)
    }

    async fn prepare(&self, session: &str, reference: Value) -> Result<PathBuf, WorkspaceError> {
        prepare(&self.dirs, session, &reference).await
    }
}

#[tokio::test]
async fn directory_is_used_only_below_an_allowed_root() {
    let host = TestHost::new();
    let directory = |path: &Path| json!({ "kind": "directory", "path": path });
    let found = host.prepare("s", directory(&host.at("root/notes"))).await.expect("below the root");
    assert_eq!(found, host.at("root/notes").canonicalize().expect("path exists"));
    let relative = host.prepare("s", json!({ "kind": "directory", "path": "notes" })).await;
    assert_eq!(relative.expect("below the first root"), found);
    symlink(host.at("private"), host.at("root/link")).expect("create symlink");
    fs::write(host.at("root/file"), "x").expect("write file");
    fs::create_dir(host.at("root-of-others")).expect("create directory");
    for path in [
        "private",
        "root/link",
        "root/link/..",
        "root/../private",
        "root/nothing",
        "root/file",
        "root-of-others",
    ] {
        let result = host.prepare("s", directory(&host.at(path))).await;
        assert!(
            matches!(result, Err(WorkspaceError::NotAllowed | WorkspaceError::UnsupportedKind(_))),
            "{path}: {result:?}"
        );
    }
    let no_roots = WorkspaceDirs { allowed_roots: Vec::new(), ..host.dirs.clone() };
    for path in [json!("notes"), json!(host.at("root/notes"))] {
        let result = prepare(&no_roots, "s", &json!({ "kind": "directory", "path": path })).await;
        assert!(matches!(result, Err(WorkspaceError::NotAllowed)), "{result:?}");
    }
}

// covers: R5
#[tokio::test]
async fn directory_of_another_tenant_is_refused_after_resolving_links() {
    let mut host = TestHost::new();
    for name in ["root/acme/web", "root/acme-of-others", "root/other"] {
        fs::create_dir_all(host.at(name)).expect("create directory");
    }
    symlink(host.at("root/other"), host.at("root/acme/link")).expect("create symlink");
    symlink(host.at("root/acme"), host.at("root/alias")).expect("create symlink");
    let at = |name: &str| host.at(name).display().to_string();
    let below = |name: &str| format!("{}/*", at(name));
    // Patterns of the tenant, requested path, allowed.
    let cases = [
        (vec!["*".to_owned()], "root/other", true),
        (vec![], "root/acme/web", false),
        (vec![below("root/acme")], "root/acme/web", true),
        (vec![below("root/acme")], "root/acme", false),
        (vec![at("root/acme")], "root/acme", true),
        (vec![at("root/acme")], "root/acme/web", false),
        (vec![below("root/acme")], "root/acme-of-others", false),
        (vec![below("root/acme")], "root/other", false),
        (vec![below("root/acme")], "root/acme/link", false),
        (vec![below("root/alias")], "root/acme/web", true),
        (vec![format!("{}*", at("root/ac"))], "root/acme/web", true),
        (vec![format!("{}*", at("root/ac"))], "root/other", false),
        (vec!["acme/*".to_owned()], "root/acme/web", true),
        (vec!["acme/*".to_owned()], "root/other", false),
        (vec![below("root/missing")], "root/other", false),
    ];
    let mut results = Vec::new();
    for (patterns, path, _) in &cases {
        host.dirs.tenant_patterns = Some(patterns.clone());
        let result = host.prepare("s", json!({ "kind": "directory", "path": host.at(path) })).await;
        assert!(
            matches!(result, Ok(_) | Err(WorkspaceError::TenantDenied)),
            "{patterns:?} {path}: {result:?}"
        );
        results.push((patterns.clone(), *path, result.is_ok()));
    }
    assert_eq!(results, cases);
}

#[tokio::test]
async fn clone_is_at_the_ref_and_independent_of_its_source() {
    let host = TestHost::new();
    let (source, first) = host.repository("root/repo");
    let head = host.prepare("a", json!({ "kind": "git", "path": source })).await.expect("clone");
    assert!(head.join("two.txt").exists());
    let branch =
        host.prepare("b", json!({ "kind": "git", "path": source, "ref": "first" })).await.expect("clone");
    let commit =
        host.prepare("c", json!({ "kind": "git", "path": source, "commitId": first })).await.expect("clone");
    for repo in [&branch, &commit] {
        assert!(repo.join("src/one.txt").exists() && !repo.join("two.txt").exists());
        assert_eq!(host.git(repo, &["rev-parse", "HEAD"]), first);
        assert_eq!(host.git(repo, &["remote"]), "", "no remote to push to by accident");
        assert!(!repo.join(".git/objects/info/alternates").exists());
    }
    fs::write(head.join("two.txt"), "changed by the session").expect("write file");
    let again = host.prepare("a", json!({ "kind": "git", "path": source })).await.expect("reuse");
    assert_eq!(fs::read_to_string(again.join("two.txt")).expect("path exists"), "changed by the session");
    let missing = json!({ "kind": "git", "path": source, "ref": "nobody" });
    assert!(matches!(host.prepare("d", missing).await, Err(WorkspaceError::GitFailed(_))));
    assert!(
        !host.at("made/d").exists() && !host.at("made/d.new").exists(),
        "no incomplete directory is left"
    );
}

#[tokio::test]
async fn bundle_file_is_cloned_and_parts_are_copied_to_their_targets() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    host.git(&source, &["bundle", "create", "-q", "../repo.bundle", "--all"]);
    let bundle = host.at("root/repo.bundle");
    let whole = json!({ "kind": "git", "path": bundle, "ref": "main" });
    assert!(host.prepare("a", whole).await.expect("clone").join("two.txt").exists());
    let part = json!({ "subpath": "src", "targetPath": "lib/inner" });
    let parts = json!({ "kind": "gitbundle", "path": bundle, "ref": "main", "bundles": [part] });
    let copied = host.prepare("b", parts).await.expect("copy");
    assert!(copied.join("lib/inner/one.txt").exists() && !copied.join("two.txt").exists());
    assert!(!copied.join(".git").exists() && !host.at("made/b.checkout").exists());
}

#[tokio::test]
async fn clone_executes_nothing_of_the_repository() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    let trap = host.at("triggered");
    let script = format!("#!/bin/sh\ntouch {}\n", trap.display());
    for hook in ["post-checkout", "post-merge", "reference-transaction", "pre-commit"] {
        let file = source.join(".git/hooks").join(hook);
        fs::create_dir_all(source.join(".git/hooks")).expect("create directory");
        fs::write(&file, &script).expect("write hook");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("set permissions");
    }
    let touch = format!("touch {}", trap.display());
    for (name, value) in [
        ("uploadpack.packObjectsHook", touch.as_str()),
        ("core.fsmonitor", touch.as_str()),
        ("filter.evil.smudge", touch.as_str()),
        ("core.sshCommand", touch.as_str()),
    ] {
        host.git(&source, &["config", name, value]);
    }
    fs::write(source.join(".gitattributes"), "* filter=evil\n").expect("write file");
    fs::write(source.join(".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ../../private\n")
        .expect("write file");
    host.git(
        &source,
        &[
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "filter.evil.smudge=cat",
            "add",
            ".",
        ],
    );
    host.git(
        &source,
        &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "trap"],
    );
    let _triggered_by_the_test_itself = fs::remove_file(&trap);
    host.prepare("a", json!({ "kind": "git", "path": source })).await.expect("clone");
    assert!(!trap.exists(), "a hook or filter of the repository was executed");
}

#[tokio::test]
async fn repository_that_points_elsewhere_is_rejected() {
    let host = TestHost::new();
    host.repository("private/repo");
    let (borrowing, _) = host.repository("root/borrowing");
    let objects = host.at("private/repo/.git/objects");
    fs::write(borrowing.join(".git/objects/info/alternates"), format!("{}\n", objects.display()))
        .expect("write file");
    fs::create_dir(host.at("root/linked")).expect("create directory");
    fs::write(host.at("root/linked/.git"), format!("gitdir: {}\n", host.at("private/repo/.git").display()))
        .expect("write file");
    fs::create_dir(host.at("root/symlinked")).expect("create directory");
    symlink(host.at("private/repo/.git"), host.at("root/symlinked/.git")).expect("create symlink");
    symlink(host.at("private/repo"), host.at("root/away")).expect("create symlink");
    for name in ["root/borrowing", "root/linked", "root/symlinked", "root/away", "private/repo"] {
        let result = host.prepare("a", json!({ "kind": "git", "path": host.at(name) })).await;
        assert!(
            matches!(result, Err(WorkspaceError::NotAllowed | WorkspaceError::InvalidRepository(_))),
            "{name}: {result:?}"
        );
    }
    for reference in [
        json!({ "kind": "git", "path": "--upload-pack=touch x" }),
        json!({ "kind": "git", "path": host.at("root/borrowing"), "ref": "--upload-pack=touch x" }),
        json!({ "kind": "git", "path": "ext::sh -c touch% x" }),
        json!({ "kind": "git", "repoUrl": "https://git.example.org/a/b" }),
        json!({ "kind": "directory", "path": "../private" }),
        json!({ "kind": "invented" }),
        json!(null),
    ] {
        let result = host.prepare("a", reference.clone()).await;
        assert!(result.is_err(), "{reference}");
    }
}

#[tokio::test]
async fn bundle_path_out_of_the_repository_is_rejected() {
    let host = TestHost::new();
    let (source, _) = host.repository("root/repo");
    symlink(host.at("private"), source.join("out")).expect("create symlink");
    host.git(&source, &["add", "."]);
    host.git(&source, &["commit", "-q", "-m", "link"]);
    let parts = |bundles: Value| json!({ "kind": "gitbundle", "path": source, "bundles": bundles });
    let part = |from: &str, to: &str| json!({ "subpath": from, "targetPath": to });
    for bundles in [
        json!([part("out", "x")]),
        json!([part("out/secret", "x")]),
        json!([part(".git", "x")]),
        json!([part(".GIT", "x")]),
        json!([part("nothing", "x")]),
    ] {
        let result = host.prepare("a", parts(bundles.clone())).await;
        assert!(matches!(result, Err(WorkspaceError::InvalidBundlePath)), "{bundles}: {result:?}");
    }
    assert!(!host.at("made/a").exists());
}

#[tokio::test]
async fn changed_files_are_reported_up_to_a_limit() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let at = |name: &str| dir.path().join(name);
    for name in ["kept", "changed", "gone"] {
        fs::write(at(name), "before").expect("write file");
    }
    fs::create_dir(at(".git")).expect("create directory");
    let before = Snapshot::take(dir.path()).await.expect("scan");
    assert!(change_events(&before, &before).is_empty());
    fs::write(at("changed"), "afterwards").expect("write file");
    fs::remove_file(at("gone")).expect("remove file");
    fs::write(at("new"), "123").expect("write file");
    fs::write(at(".git/index"), "ignored").expect("write file");
    symlink("/etc/passwd", at("link")).expect("create symlink");
    let after = Snapshot::take(dir.path()).await.expect("scan");
    let changes: Vec<_> = change_events(&before, &after)
        .iter()
        .map(|event| (event["path"].clone(), event["change"].clone(), event["bytes"].clone()))
        .collect();
    assert_eq!(
        changes,
        [
            (json!("changed"), json!("modified"), json!(10)),
            (json!("gone"), json!("deleted"), json!(0)),
            (json!("link"), json!("added"), json!(0)),
            (json!("new"), json!("added"), json!(3)),
        ]
    );
    for number in 0..50 {
        fs::write(at(&format!("many-{number:02}")), "x").expect("write file");
    }
    let many = change_events(&after, &Snapshot::take(dir.path()).await.expect("scan"));
    assert_eq!(many.len(), 21);
    let last = many.last().expect("summary event");
    assert_eq!((&last["files"], &last["bytes"], &last["truncated"]), (&json!(30), &json!(30), &json!(true)));
}
