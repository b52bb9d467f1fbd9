use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::*;

/// A tree as in the tarball, whose programs are scripts.
fn staged() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let programs = folder.path().join("programs");
    let tree = folder.path().join(archive_name());
    for dir in [&programs, &tree.join("bin"), &tree.join("completions")] {
        fs::create_dir_all(dir).expect("a folder");
    }
    let mut files: Vec<String> = PROGRAMS.map(|name| format!("bin/{name}")).to_vec();
    files.extend(COMPLETIONS.map(|(name, _)| format!("completions/{name}")));
    files.extend(DOCUMENTS.map(str::to_owned));
    for file in &files {
        write_file(&tree.join(file), "#!/bin/sh\n", 0o755).expect("written");
    }
    write_file(&tree.join("install.sh"), &installer(&BinaryRequirements::default()), 0o755).expect("written");
    write_checksums(&tree, &files).expect("written");
    (folder, tree)
}

fn install(script: &Path, args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        Command::new("sh").arg(script).args(args).output().expect("a shell");
    (status.code(), String::from_utf8([stdout, stderr].concat()).expect("text"))
}

#[test]
fn installer_copies_the_files_and_names_the_next_command() {
    let (folder, tree) = staged();
    let prefix = folder.path().join("new prefix");
    let (code, text) = install(&tree.join("install.sh"), &["--prefix", &prefix.display().to_string()]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.starts_with(&format!("installed guildhall {VERSION} in {}/bin\n", prefix.display())),
        "{text}"
    );
    let next = format!("next:\n  export PATH=\"{}/bin:$PATH\"\n  guildhall dev\n", prefix.display());
    assert!(text.ends_with(&next), "{text}");
    for file in ["bin/guildhall", "bin/guildhall-runner", "share/doc/guildhall/LICENSE"] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
}

#[test]
fn installer_refuses_a_changed_file() {
    let (folder, tree) = staged();
    fs::write(tree.join("bin/guildhall-runner"), "#!/bin/sh\necho changed\n").expect("written");
    let prefix = folder.path().join("prefix");
    let (code, text) = install(&tree.join("install.sh"), &["--prefix", &prefix.display().to_string()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("differs from SHA256SUMS") && text.contains("nothing was installed"), "{text}");
    assert!(!prefix.exists());
}

#[test]
fn installer_next_to_the_tarball_unpacks_it() {
    let (folder, tree) = staged();
    let out = folder.path().join("out");
    fs::create_dir(&out).expect("a folder");
    let name = format!("{}.tar.gz", archive_name());
    fs::remove_dir_all(folder.path().join("programs")).expect("removed");
    write_tarball(folder.path(), &out.join(&name)).expect("a tarball");
    fs::copy(tree.join("install.sh"), out.join("install.sh")).expect("copied");
    write_checksums(&out, &[name, "install.sh".to_owned()]).expect("written");
    let prefix = folder.path().join("prefix");
    let (code, text) = install(&out.join("install.sh"), &[&format!("--prefix={}", prefix.display())]);
    assert_eq!((code, prefix.join("bin/guildhall").is_file()), (Some(0), true), "{text}");
}

#[test]
fn installer_refuses_other_machines() {
    let (folder, tree) = staged();
    let bin = folder.path().join("fake");
    fs::create_dir(&bin).expect("a folder");
    write_file(&bin.join("uname"), "#!/bin/sh\n[ $1 = -s ] && echo Linux || echo aarch64\n", 0o755)
        .expect("written");
    let path = format!("{}:{}", bin.display(), std::env::var_os("PATH").unwrap_or_default().display());
    let output = Command::new("sh").arg(tree.join("install.sh")).env("PATH", path).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("for Linux on x86_64, and this machine has Linux on aarch64"), "{text}");
}

#[test]
fn tarball_of_the_same_files_has_the_same_bytes() {
    let (folder, tree) = staged();
    let tarball = |name: &str| {
        let file = folder.path().join(name);
        write_tarball(folder.path(), &file).expect("a tarball");
        fs::read(file).expect("a tarball")
    };
    let first = tarball("a.tar.gz");
    // Time and permissions of the files differ.
    let text = fs::read_to_string(tree.join("LICENSE")).expect("a file");
    write_file(&tree.join("LICENSE"), &text, 0o700).expect("written");
    assert!(first == tarball("b.tar.gz"));
}
