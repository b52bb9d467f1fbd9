//! Directories and files that only this user can read. They are accessed through file descriptors, so a path that is
//! changed concurrently has no effect.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::store::SecretError;

/// The permission bits of group and others, which must be zero.
const GROUP_AND_OTHERS: u32 = 0o077;

/// Maximum number of entries read from a directory.
const MAX_ENTRIES: usize = 10_000;

/// A directory that only this user can access.
#[derive(Debug)]
pub(super) struct PrivateDir {
    fd: OwnedFd,
    path: PathBuf,
}

/// The text of a file and its modification time.
pub(super) struct FileText {
    pub(super) text: String,
    pub(super) changed_at: Timestamp,
}

impl PrivateDir {
    /// Opens a directory, and creates it if it is missing.
    pub(super) fn create(path: &Path) -> Result<Self, SecretError> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(io("create", parent))?;
        }
        let name = path.file_name().ok_or_else(|| SecretError::InvalidFormat(path.to_owned()))?;
        match rustix::fs::mkdirat(CWD, path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(io("create", Path::new(name))(error.into())),
        }
        Self::at(CWD, path, path.to_owned())?.ok_or_else(|| SecretError::InvalidFormat(path.to_owned()))
    }

    /// Opens a directory. Returns `None` if it does not exist.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, SecretError> {
        Self::at(CWD, path, path.to_owned())
    }

    /// Opens a subdirectory. Returns `None` if it does not exist.
    pub(super) fn open(&self, name: &str) -> Result<Option<Self>, SecretError> {
        Self::at(&self.fd, name, self.path.join(name))
    }

    /// Opens a subdirectory, and creates it if it is missing.
    pub(super) fn open_or_create(&self, name: &str) -> Result<Self, SecretError> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(self.failed("create", name)(error)),
        }
        self.open(name)?.ok_or_else(|| SecretError::InvalidFormat(self.path.join(name)))
    }

    fn at(
        parent: impl std::os::fd::AsFd,
        name: impl rustix::path::Arg,
        path: PathBuf,
    ) -> Result<Option<Self>, SecretError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            // A symbolic link, or not a directory.
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(SecretError::InvalidFormat(path)),
            Err(error) => return Err(io("open", &path)(error.into())),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| io("inspect", &path)(error.into()))?;
        check_permissions(&stat, &path)?;
        Ok(Some(Self { fd, path }))
    }

    /// Writes a new file.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), SecretError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(self.failed("write", name))?;
        let mut file = File::from(fd);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(io("write", &self.path.join(name)))
    }

    /// Reads a file of at most `max_bytes`. Returns `None` if it does not exist.
    pub(super) fn read(&self, name: &str, max_bytes: u64) -> Result<Option<FileText>, SecretError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = self.path.join(name);
        let fd = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(SecretError::InvalidFormat(path)),
            Err(error) => return Err(self.failed("read", name)(error)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(self.failed("inspect", name))?;
        check_permissions(&stat, &path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(SecretError::InvalidFormat(path));
        }
        let mut text = String::new();
        let read = File::from(fd).take(max_bytes + 1).read_to_string(&mut text);
        let length = read.map_err(|_| SecretError::InvalidFormat(path.clone()))?;
        if u64::try_from(length).unwrap_or(u64::MAX) > max_bytes {
            return Err(SecretError::InvalidFormat(path));
        }
        Ok(Some(FileText { text, changed_at: changed_at(&stat) }))
    }

    /// Moves the directory `from` to `to`. Returns whether `to` existed; if so, the two were swapped.
    pub(super) fn replace(&self, from: &str, to: &str) -> Result<bool, SecretError> {
        let rename = |flags| rustix::fs::renameat_with(&self.fd, from, &self.fd, to, flags);
        let swapped = match rename(RenameFlags::EXCHANGE) {
            Ok(()) => true,
            Err(Errno::NOENT) => {
                rename(RenameFlags::NOREPLACE).map_err(self.failed("write", to))?;
                false
            }
            Err(error) => return Err(self.failed("replace", to)(error)),
        };
        rustix::fs::fsync(&self.fd).map_err(self.failed("sync", to))?;
        Ok(swapped)
    }

    /// Moves the file `from` to `to`. An earlier file of that name is gone.
    pub(super) fn replace_file(&self, from: &str, to: &str) -> Result<(), SecretError> {
        rustix::fs::renameat(&self.fd, from, &self.fd, to).map_err(self.failed("replace", to))?;
        rustix::fs::fsync(&self.fd).map_err(self.failed("sync", to))
    }

    /// Renames a directory. Returns `false` if it did not exist.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<bool, SecretError> {
        match rustix::fs::renameat_with(&self.fd, from, &self.fd, to, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(self.failed("remove", from)(error)),
        }
        rustix::fs::fsync(&self.fd).map_err(self.failed("sync", from))?;
        Ok(true)
    }

    /// Removes a directory and the files in it.
    pub(super) fn remove(&self, name: &str) -> Result<(), SecretError> {
        if let Some(inner) = self.open(name)? {
            for file in inner.names()? {
                rustix::fs::unlinkat(&inner.fd, file.as_str(), AtFlags::empty())
                    .map_err(inner.failed("remove", &file))?;
            }
        }
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed("remove", name)(error)),
        }
    }

    /// Removes a file. Returns `false` if it did not exist.
    pub(super) fn remove_file(&self, name: &str) -> Result<bool, SecretError> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(self.failed("remove", name)(error)),
        }
    }

    /// Lists the names of the entries, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>, SecretError> {
        let entries = Dir::read_from(&self.fd).map_err(self.failed("list", ""))?;
        let mut names = Vec::new();
        for entry in entries.take(MAX_ENTRIES) {
            let entry = entry.map_err(self.failed("list", ""))?;
            if let Ok(name) = entry.file_name().to_str()
                && ![".", ".."].contains(&name)
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns whether both are the same directory, regardless of their paths.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let id = |dir: &Self| rustix::fs::fstat(&dir.fd).map(|stat| (stat.st_dev, stat.st_ino));
        matches!((id(self), id(other)), (Ok(one), Ok(two)) if one == two)
    }

    /// Returns the modification time of this directory.
    pub(super) fn changed_at(&self) -> Result<Timestamp, SecretError> {
        let stat = rustix::fs::fstat(&self.fd).map_err(self.failed("inspect", ""))?;
        Ok(changed_at(&stat))
    }

    fn failed<'a>(&'a self, action: &'static str, name: &'a str) -> impl FnOnce(Errno) -> SecretError + 'a {
        move |error| io(action, &self.path.join(name))(error.into())
    }
}

/// Fails if other users can access the file, or if it belongs to another user, who could change it.
fn check_permissions(stat: &Stat, path: &Path) -> Result<(), SecretError> {
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if is_ours && stat.st_mode & GROUP_AND_OTHERS == 0 {
        Ok(())
    } else {
        Err(SecretError::InsecurePermissions(path.to_owned()))
    }
}

fn changed_at(stat: &Stat) -> Timestamp {
    let nanos = i32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    Timestamp::new(stat.st_mtime, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SecretError {
    let path = path.to_owned();
    move |source| SecretError::Io { action, path, source }
}
