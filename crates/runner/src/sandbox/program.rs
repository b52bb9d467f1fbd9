//! Which files a program needs besides itself.

use std::path::{Path, PathBuf};

/// Returns what must be visible so that a program outside of the system's directories can run: the Node modules that it
/// is a part of, or else the file itself, under its own name and under the name that it links to.
#[must_use]
pub fn program_mounts(program: &Path) -> Vec<PathBuf> {
    let mut mounts: Vec<PathBuf> = Vec::new();
    for path in [Some(program.to_owned()), program.canonicalize().ok()].into_iter().flatten() {
        let path = modules_dir(&path).unwrap_or(path);
        if !is_in_system(&path) && !mounts.contains(&path) {
            mounts.push(path);
        }
    }
    mounts
}

/// Returns the path under which a program finds its own files. `npm install --global` links a program from a directory of
/// the search path to its Node modules; in a sandbox that link is a file, which finds no modules.
#[must_use]
pub fn resolve_node_link(program: PathBuf) -> PathBuf {
    match program.canonicalize() {
        Ok(target) if modules_dir(&target).is_some() => target,
        Ok(_) | Err(_) => program,
    }
}

/// Returns the outermost `node_modules` above a path.
fn modules_dir(path: &Path) -> Option<PathBuf> {
    let is_modules = |dir: &&Path| dir.file_name().is_some_and(|name| name == "node_modules");
    path.ancestors().filter(is_modules).last().map(Path::to_owned)
}

/// Returns whether a path is in a directory of the system, which every sandbox sees.
pub(super) fn is_in_system(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store"].iter().any(|dir| path.starts_with(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_in_node_modules_needs_all_modules() {
        let root = tempfile::tempdir().expect("temporary directory");
        let root = root.path().canonicalize().expect("canonical path");
        let modules = root.join("node_modules");
        std::fs::create_dir_all(modules.join(".bin")).expect("create directory");
        std::fs::create_dir_all(modules.join("agent/node_modules/inner")).expect("create directory");
        std::fs::write(modules.join("agent/node_modules/inner/cli.js"), "").expect("write file");
        let link = modules.join(".bin/agent");
        std::os::unix::fs::symlink("../agent/node_modules/inner/cli.js", &link).expect("create symlink");
        assert_eq!(program_mounts(&link), [modules]);
    }

    #[test]
    fn global_node_program_is_started_in_its_modules() {
        let root = tempfile::tempdir().expect("temporary directory");
        let root = root.path().canonicalize().expect("canonical path");
        let script = root.join("lib/node_modules/agent/cli.js");
        std::fs::create_dir_all(root.join("lib/node_modules/agent")).expect("create directory");
        std::fs::create_dir(root.join("bin")).expect("create directory");
        std::fs::write(&script, "").expect("write file");
        std::fs::write(root.join("bin/other-1.2"), "").expect("write file");
        std::os::unix::fs::symlink("../lib/node_modules/agent/cli.js", root.join("bin/agent")).expect("link");
        std::os::unix::fs::symlink("other-1.2", root.join("bin/other")).expect("link");
        assert_eq!(resolve_node_link(root.join("bin/agent")), script);
        let other = root.join("bin/other");
        assert_eq!(resolve_node_link(other.clone()), other, "its name may matter to it");
    }

    #[test]
    fn other_program_needs_its_file_and_the_target_of_its_link() {
        let root = tempfile::tempdir().expect("temporary directory");
        let root = root.path().canonicalize().expect("canonical path");
        std::fs::write(root.join("agent-1.2"), "").expect("write file");
        std::os::unix::fs::symlink("agent-1.2", root.join("agent")).expect("create symlink");
        assert_eq!(program_mounts(&root.join("agent")), [root.join("agent"), root.join("agent-1.2")]);
        assert_eq!(program_mounts(Path::new("/usr/bin/env")), [] as [PathBuf; 0]);
    }
}
