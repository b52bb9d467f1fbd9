//! Checks of directories that are created when they are needed.

use std::io;
use std::path::Path;

use rustix::fs::{Access, access};

/// Checks that a directory is writable or can be created. Creates nothing.
pub(crate) fn check_creatable(path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let existing = path.ancestors().find(|dir| dir.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    if !existing.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(access(existing, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_can_be_created_below_a_directory_but_not_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("file"), "").expect("written");
        check_creatable(&dir.path().join("a/b")).expect("creatable");
        check_creatable(dir.path()).expect("exists");
        let below_file = check_creatable(&dir.path().join("file/a")).map_err(|error| error.kind());
        assert_eq!(below_file, Err(io::ErrorKind::NotADirectory));
        assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 1, "nothing was created");
    }
}
