use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A machine with a root that the operator opened, and something beside it that is nobody's.
struct Machine {
    folder: TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["root/notes", "private"] {
            fs::create_dir_all(at(name)).expect("a folder");
        }
        fs::write(at("private/secret"), "hunter2").expect("a file");
        let places = Places { made: at("made"), roots: vec![at("root")] };
        Self { folder, places }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, folder: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Makes a repository with two commits, the first of them on a branch. Returns its path and the first commit.
    fn repository(&self, name: &str) -> (PathBuf, String) {
        let folder = self.at(name);
        fs::create_dir_all(folder.join("src")).expect("a folder");
        self.git(&folder, &["init", "-q", "-b", "main"]);
        fs::write(folder.join("src/one.txt"), "1").expect("a file");
        self.git(&folder, &["add", "."]);
        self.git(&folder, &["commit", "-q", "-m", "one"]);
        self.git(&folder, &["branch", "first"]);
        let first = self.git(&folder, &["rev-parse", "HEAD"]);
        fs::write(folder.join("two.txt"), "2").expect("a file");
        self.git(&folder, &["add", "."]);
        self.git(&folder, &["commit", "-q", "-m", "two"]);
        (folder, first)
    }

    async fn prepare(&self, session: &str, reference: Value) -> Result<PathBuf, WorkspaceError> {
        prepare(&self.places, session, &reference).await
    }
}

#[tokio::test]
async fn a_folder_is_used_where_the_operator_opened_it_and_nowhere_else() {
    let machine = Machine::new();
    let directory = |path: &Path| json!({ "kind": "directory", "path": path });
    let found = machine.prepare("s", directory(&machine.at("root/notes"))).await.expect("below the root");
    assert_eq!(found, machine.at("root/notes").canonicalize().expect("there"));
    let relative = machine.prepare("s", json!({ "kind": "directory", "path": "notes" })).await;
    assert_eq!(relative.expect("below the first root"), found);
    symlink(machine.at("private"), machine.at("root/link")).expect("a link");
    fs::write(machine.at("root/file"), "x").expect("a file");
    fs::create_dir(machine.at("root-of-others")).expect("a folder");
    for path in [
        "private",
        "root/link",
        "root/link/..",
        "root/../private",
        "root/nothing",
        "root/file",
        "root-of-others",
    ] {
        let refused = machine.prepare("s", directory(&machine.at(path))).await;
        assert!(
            matches!(refused, Err(WorkspaceError::Outside | WorkspaceError::Unable(_))),
            "{path}: {refused:?}"
        );
    }
    let nowhere = Places { roots: Vec::new(), ..machine.places.clone() };
    for path in [json!("notes"), json!(machine.at("root/notes"))] {
        let refused = prepare(&nowhere, "s", &json!({ "kind": "directory", "path": path })).await;
        assert!(matches!(refused, Err(WorkspaceError::Outside)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_checkout_is_at_the_branch_or_commit_and_shares_nothing_with_its_source() {
    let machine = Machine::new();
    let (source, first) = machine.repository("root/repo");
    let head = machine.prepare("a", json!({ "kind": "git", "path": source })).await.expect("cloned");
    assert!(head.join("two.txt").exists());
    let branch =
        machine.prepare("b", json!({ "kind": "git", "path": source, "ref": "first" })).await.expect("cloned");
    let commit = machine
        .prepare("c", json!({ "kind": "git", "path": source, "commitId": first }))
        .await
        .expect("cloned");
    for folder in [&branch, &commit] {
        assert!(folder.join("src/one.txt").exists() && !folder.join("two.txt").exists());
        assert_eq!(machine.git(folder, &["rev-parse", "HEAD"]), first);
        assert_eq!(machine.git(folder, &["remote"]), "", "it cannot be pushed back by accident");
        assert!(!folder.join(".git/objects/info/alternates").exists());
    }
    fs::write(head.join("two.txt"), "of the session").expect("a file");
    let again = machine.prepare("a", json!({ "kind": "git", "path": source })).await.expect("found");
    assert_eq!(fs::read_to_string(again.join("two.txt")).expect("there"), "of the session");
    let missing = json!({ "kind": "git", "path": source, "ref": "nobody" });
    assert!(matches!(machine.prepare("d", missing).await, Err(WorkspaceError::Git(_))));
    assert!(
        !machine.at("made/d").exists() && !machine.at("made/d.new").exists(),
        "nothing half-made is left"
    );
}

#[tokio::test]
async fn a_bundle_file_is_cloned_and_parts_go_where_they_belong() {
    let machine = Machine::new();
    let (source, _) = machine.repository("root/repo");
    machine.git(&source, &["bundle", "create", "-q", "../repo.bundle", "--all"]);
    let bundle = machine.at("root/repo.bundle");
    let whole = json!({ "kind": "git", "path": bundle, "ref": "main" });
    assert!(machine.prepare("a", whole).await.expect("cloned").join("two.txt").exists());
    let part = json!({ "subpath": "src", "targetPath": "lib/inner" });
    let parts = json!({ "kind": "gitbundle", "path": bundle, "ref": "main", "bundles": [part] });
    let taken = machine.prepare("b", parts).await.expect("taken");
    assert!(taken.join("lib/inner/one.txt").exists() && !taken.join("two.txt").exists());
    assert!(!taken.join(".git").exists() && !machine.at("made/b.checkout").exists());
}

#[tokio::test]
async fn nothing_in_a_repository_runs() {
    let machine = Machine::new();
    let (source, _) = machine.repository("root/repo");
    let trap = machine.at("trapped");
    let script = format!("#!/bin/sh\ntouch {}\n", trap.display());
    for hook in ["post-checkout", "post-merge", "reference-transaction", "pre-commit"] {
        let file = source.join(".git/hooks").join(hook);
        fs::create_dir_all(source.join(".git/hooks")).expect("a folder");
        fs::write(&file, &script).expect("a hook");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let touch = format!("touch {}", trap.display());
    for (name, value) in [
        ("uploadpack.packObjectsHook", touch.as_str()),
        ("core.fsmonitor", touch.as_str()),
        ("filter.evil.smudge", touch.as_str()),
        ("core.sshCommand", touch.as_str()),
    ] {
        machine.git(&source, &["config", name, value]);
    }
    fs::write(source.join(".gitattributes"), "* filter=evil\n").expect("a file");
    fs::write(source.join(".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ../../private\n")
        .expect("a file");
    machine.git(
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
    machine.git(
        &source,
        &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "trap"],
    );
    let _trapped_by_the_test_itself = fs::remove_file(&trap);
    machine.prepare("a", json!({ "kind": "git", "path": source })).await.expect("cloned");
    assert!(!trap.exists(), "something of the repository ran");
}

#[tokio::test]
async fn a_repository_that_leads_elsewhere_is_refused() {
    let machine = Machine::new();
    machine.repository("private/repo");
    let (borrowing, _) = machine.repository("root/borrowing");
    let objects = machine.at("private/repo/.git/objects");
    fs::write(borrowing.join(".git/objects/info/alternates"), format!("{}\n", objects.display()))
        .expect("a file");
    fs::create_dir(machine.at("root/linked")).expect("a folder");
    fs::write(
        machine.at("root/linked/.git"),
        format!("gitdir: {}\n", machine.at("private/repo/.git").display()),
    )
    .expect("a file");
    fs::create_dir(machine.at("root/symlinked")).expect("a folder");
    symlink(machine.at("private/repo/.git"), machine.at("root/symlinked/.git")).expect("a link");
    symlink(machine.at("private/repo"), machine.at("root/away")).expect("a link");
    for name in ["root/borrowing", "root/linked", "root/symlinked", "root/away", "private/repo"] {
        let refused = machine.prepare("a", json!({ "kind": "git", "path": machine.at(name) })).await;
        assert!(
            matches!(refused, Err(WorkspaceError::Outside | WorkspaceError::Repository(_))),
            "{name}: {refused:?}"
        );
    }
    for reference in [
        json!({ "kind": "git", "path": "--upload-pack=touch x" }),
        json!({ "kind": "git", "path": machine.at("root/borrowing"), "ref": "--upload-pack=touch x" }),
        json!({ "kind": "git", "path": "ext::sh -c touch% x" }),
        json!({ "kind": "git", "repoUrl": "https://git.example.org/a/b" }),
        json!({ "kind": "directory", "path": "../private" }),
        json!({ "kind": "invented" }),
        json!(null),
    ] {
        let refused = machine.prepare("a", reference.clone()).await;
        assert!(refused.is_err(), "{reference}");
    }
}

#[tokio::test]
async fn a_part_that_leads_out_of_the_repository_is_refused() {
    let machine = Machine::new();
    let (source, _) = machine.repository("root/repo");
    symlink(machine.at("private"), source.join("out")).expect("a link");
    machine.git(&source, &["add", "."]);
    machine.git(&source, &["commit", "-q", "-m", "link"]);
    let parts = |bundles: Value| json!({ "kind": "gitbundle", "path": source, "bundles": bundles });
    let part = |from: &str, to: &str| json!({ "subpath": from, "targetPath": to });
    for bundles in [
        json!([part("out", "x")]),
        json!([part("out/secret", "x")]),
        json!([part(".git", "x")]),
        json!([part(".GIT", "x")]),
        json!([part("nothing", "x")]),
    ] {
        let refused = machine.prepare("a", parts(bundles.clone())).await;
        assert!(matches!(refused, Err(WorkspaceError::Part)), "{bundles}: {refused:?}");
    }
    assert!(!machine.at("made/a").exists());
}

#[tokio::test]
async fn a_turn_tells_which_files_it_changed_and_never_all_of_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["kept", "changed", "gone"] {
        fs::write(at(name), "before").expect("a file");
    }
    fs::create_dir(at(".git")).expect("a folder");
    let before = Snapshot::take(folder.path()).await.expect("looked");
    assert!(events(&before, &before).is_empty());
    fs::write(at("changed"), "afterwards").expect("a file");
    fs::remove_file(at("gone")).expect("removed");
    fs::write(at("new"), "123").expect("a file");
    fs::write(at(".git/index"), "not the work").expect("a file");
    symlink("/etc/passwd", at("link")).expect("a link");
    let after = Snapshot::take(folder.path()).await.expect("looked");
    let told: Vec<_> = events(&before, &after)
        .iter()
        .map(|event| (event["path"].clone(), event["change"].clone(), event["bytes"].clone()))
        .collect();
    assert_eq!(
        told,
        [
            (json!("changed"), json!("modified"), json!(10)),
            (json!("gone"), json!("deleted"), json!(0)),
            (json!("link"), json!("added"), json!(0)),
            (json!("new"), json!("added"), json!(3)),
        ]
    );
    for number in 0..50 {
        fs::write(at(&format!("many-{number:02}")), "x").expect("a file");
    }
    let many = events(&after, &Snapshot::take(folder.path()).await.expect("looked"));
    assert_eq!(many.len(), 21);
    let last = many.last().expect("a sum");
    assert_eq!((&last["files"], &last["bytes"], &last["truncated"]), (&json!(30), &json!(30), &json!(true)));
}
