//! Files of the runner in directories that an agent can write to.
//!
//! An agent may plant a symbolic link where the runner writes its next file. So these functions open every path below
//! the directory without following any link.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, ResolveFlags, Uid, fchown, mkdirat, openat, openat2, renameat, unlinkat,
};

use super::user::{AgentUser, give_to_agent};

/// A directory that an agent can write to.
#[derive(Debug)]
pub struct AgentDir {
    path: PathBuf,
    dir: OwnedFd,
    user: Option<AgentUser>,
}

/// Creates a directory and its parents, accessible only to its owner, and gives it to the user of an agent. Its parents
/// must not be writable for the agent.
pub fn create_dir(path: &Path, user: Option<AgentUser>) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    user.map_or(Ok(()), |user| give_to_agent(path, user))
}

impl AgentDir {
    /// Creates the directory if it does not exist, and opens it.
    pub fn open(path: &Path, user: Option<AgentUser>) -> io::Result<Self> {
        create_dir(path, user)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { path: path.to_owned(), dir, user })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file atomically, accessible only to the agent. Replaces what exists at the path, and a symbolic link in
    /// place of a directory.
    pub fn write(&self, path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
        let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
        let name = name.ok_or(io::ErrorKind::InvalidInput)?;
        let parent = self.create_parents(parent)?;
        let new = Path::new(name).with_extension("new");
        match unlinkat(&parent, &new, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&parent, &new, flags, Mode::from_raw_mode(0o600))?);
        file.write_all(content.as_ref())?;
        self.give(&file)?;
        Ok(renameat(&parent, &new, &parent, name)?)
    }

    /// Reads a regular file of at most `max_bytes`. Returns `None` if there is none.
    pub fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Option<String>> {
        // Without `NONBLOCK`, opening a FIFO would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat2(&self.dir, path, flags, Mode::empty(), beneath()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = String::new();
        let read = file.take(max_bytes + 1).read_to_string(&mut text)?;
        if read as u64 > max_bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(Some(text)) }
    }

    /// Removes a file, a link or a directory below this directory, if it exists. A link in place of a directory on the way
    /// is replaced, not followed.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let parent = self.create_parents(parent)?;
        let path = Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string()).join(name);
        let removed = match std::fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(&path),
            Ok(_) => std::fs::remove_file(&path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Opens a directory below this one, and creates what is missing.
    fn create_parents(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut dir = openat2(&self.dir, ".", flags, Mode::empty(), beneath())?;
        for component in path.components() {
            let Component::Normal(name) = component else { return Err(io::ErrorKind::InvalidInput.into()) };
            dir = match openat2(&dir, name, flags, Mode::empty(), beneath()) {
                Ok(inner) => inner,
                Err(rustix::io::Errno::NOENT) => self.create_inner(&dir, name)?,
                // The agent put a link or a file there. It must not make its session unusable.
                Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
                    unlinkat(&dir, name, AtFlags::empty())?;
                    self.create_inner(&dir, name)?
                }
                Err(error) => return Err(error.into()),
            };
        }
        Ok(dir)
    }

    fn create_inner(&self, dir: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
        mkdirat(dir, name, Mode::from_raw_mode(0o700))?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let inner = openat2(dir, name, flags, Mode::empty(), beneath())?;
        self.give(&inner)?;
        Ok(inner)
    }

    fn give(&self, file: impl std::os::fd::AsFd) -> io::Result<()> {
        let Some(user) = self.user else { return Ok(()) };
        Ok(fchown(file, Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)))?)
    }
}

fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn planted_links_are_not_followed() {
        let root = tempfile::tempdir().expect("temporary directory");
        let (home, outside) = (root.path().join("home"), root.path().join("outside"));
        fs::create_dir(&outside).expect("create directory");
        fs::write(outside.join("file"), "kept").expect("write file");
        let dir = AgentDir::open(&home, None).expect("open");
        symlink(&outside, home.join("linked")).expect("create symlink");
        symlink(outside.join("file"), home.join("file")).expect("create symlink");
        symlink(outside.join("file"), home.join("file.new")).expect("create symlink");

        dir.write(Path::new("../outside/file"), "evil").expect_err("outside");
        dir.read(Path::new("file"), 100).expect_err("a link");
        dir.read(Path::new("linked/file"), 100).expect_err("a linked directory");
        dir.write(Path::new("file"), "ours").expect("the link itself is replaced");
        assert_eq!(dir.read(Path::new("file"), 100).expect("read"), Some("ours".to_owned()));
        dir.write(Path::new("linked/file"), "ours").expect("the linked directory is replaced");
        assert!(home.join("linked").symlink_metadata().expect("metadata").is_dir());
        dir.remove(Path::new("linked")).expect("removes the directory");
        assert_eq!(fs::read_to_string(outside.join("file")).expect("read file"), "kept");
    }

    #[test]
    fn files_are_private_and_bounded() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().expect("temporary directory");
        let dir = AgentDir::open(&root.path().join("home"), None).expect("open");
        dir.write(Path::new("a/b/c.json"), "12345").expect("write");
        let mode = |path: &str| {
            let metadata = fs::metadata(dir.path().join(path)).expect("metadata");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!([mode(""), mode("a/b"), mode("a/b/c.json")], [0o700, 0o700, 0o600]);
        dir.read(Path::new("a/b/c.json"), 4).expect_err("too large");
        assert_eq!(dir.read(Path::new("missing"), 4).expect("read"), None);
        dir.remove(Path::new("a")).expect("removes the tree");
        assert_eq!(fs::read_dir(dir.path()).expect("read directory").count(), 0);
    }
}
