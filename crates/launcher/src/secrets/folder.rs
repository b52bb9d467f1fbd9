//! Folders and files that this process alone can read, held by their descriptors: a path that somebody changes meanwhile
//! leads nowhere else.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::SecretError;

/// What groups and others may do with a file: nothing.
const OTHERS: u32 = 0o077;

/// Entries looked at in one folder, so that a folder full of something else holds nobody up.
const ENTRIES_AT_MOST: usize = 10_000;

/// A folder that is ours alone.
#[derive(Debug)]
pub(super) struct Folder {
    held: OwnedFd,
    path: PathBuf,
}

/// A file's text, and when it was last written.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) changed_at: Timestamp,
}

impl Folder {
    /// Opens a folder, made where it is missing.
    pub(super) fn make(path: &Path) -> Result<Self, SecretError> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(io("make", parent))?;
        }
        let name = path.file_name().ok_or_else(|| SecretError::Form(path.to_owned()))?;
        match rustix::fs::mkdirat(CWD, path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(io("make", Path::new(name))(error.into())),
        }
        Self::at(CWD, path, path.to_owned())?.ok_or_else(|| SecretError::Form(path.to_owned()))
    }

    /// Opens a folder below this one; none where there is none.
    pub(super) fn open(&self, name: &str) -> Result<Option<Self>, SecretError> {
        Self::at(&self.held, name, self.path.join(name))
    }

    /// Opens a folder below this one, made where it is missing.
    pub(super) fn open_or_make(&self, name: &str) -> Result<Self, SecretError> {
        match rustix::fs::mkdirat(&self.held, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(self.failed("make", name)(error)),
        }
        self.open(name)?.ok_or_else(|| SecretError::Form(self.path.join(name)))
    }

    fn at(
        parent: impl std::os::fd::AsFd,
        name: impl rustix::path::Arg,
        path: PathBuf,
    ) -> Result<Option<Self>, SecretError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
            Ok(held) => held,
            Err(Errno::NOENT) => return Ok(None),
            // A link, or no folder at all.
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(SecretError::Form(path)),
            Err(error) => return Err(io("open", &path)(error.into())),
        };
        let stat = rustix::fs::fstat(&held).map_err(|error| io("look at", &path)(error.into()))?;
        refuse_open(&stat, &path)?;
        Ok(Some(Self { held, path }))
    }

    /// Writes a file that was not there.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), SecretError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::openat(&self.held, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(self.failed("write", name))?;
        let mut file = File::from(held);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(io("write", &self.path.join(name)))
    }

    /// Reads a file of at most so many bytes; none where there is none.
    pub(super) fn read(&self, name: &str, at_most: u64) -> Result<Option<Text>, SecretError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = self.path.join(name);
        let held = match rustix::fs::openat(&self.held, name, flags, Mode::empty()) {
            Ok(held) => held,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(SecretError::Form(path)),
            Err(error) => return Err(self.failed("read", name)(error)),
        };
        let stat = rustix::fs::fstat(&held).map_err(self.failed("look at", name))?;
        refuse_open(&stat, &path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(SecretError::Form(path));
        }
        let mut text = String::new();
        let read = File::from(held).take(at_most + 1).read_to_string(&mut text);
        let length = read.map_err(|_| SecretError::Form(path.clone()))?;
        if u64::try_from(length).unwrap_or(u64::MAX) > at_most {
            return Err(SecretError::Form(path));
        }
        Ok(Some(Text { text, changed_at: changed_at(&stat) }))
    }

    /// Puts the folder `from` in the place of `to`. Returns whether there was one in that place; it stands at `from` then.
    pub(super) fn take_place(&self, from: &str, to: &str) -> Result<bool, SecretError> {
        let rename = |flags| rustix::fs::renameat_with(&self.held, from, &self.held, to, flags);
        let swapped = match rename(RenameFlags::EXCHANGE) {
            Ok(()) => true,
            Err(Errno::NOENT) => {
                rename(RenameFlags::NOREPLACE).map_err(self.failed("write", to))?;
                false
            }
            Err(error) => return Err(self.failed("replace", to)(error)),
        };
        rustix::fs::fsync(&self.held).map_err(self.failed("keep", to))?;
        Ok(swapped)
    }

    /// Moves a folder away from a name. Returns whether there was one.
    pub(super) fn move_away(&self, from: &str, to: &str) -> Result<bool, SecretError> {
        match rustix::fs::renameat_with(&self.held, from, &self.held, to, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(self.failed("remove", from)(error)),
        }
        rustix::fs::fsync(&self.held).map_err(self.failed("keep", from))?;
        Ok(true)
    }

    /// Removes a folder of files.
    pub(super) fn remove(&self, name: &str) -> Result<(), SecretError> {
        if let Some(inner) = self.open(name)? {
            for file in inner.names()? {
                rustix::fs::unlinkat(&inner.held, file.as_str(), AtFlags::empty())
                    .map_err(inner.failed("remove", &file))?;
            }
        }
        match rustix::fs::unlinkat(&self.held, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed("remove", name)(error)),
        }
    }

    /// Returns the names of what is here, in order.
    pub(super) fn names(&self) -> Result<Vec<String>, SecretError> {
        let entries = Dir::read_from(&self.held).map_err(self.failed("list", ""))?;
        let mut names = Vec::new();
        for entry in entries.take(ENTRIES_AT_MOST) {
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

    /// Returns whether two are the same folder, whatever stands at its path now.
    pub(super) fn is(&self, other: &Self) -> bool {
        let which = |folder: &Self| rustix::fs::fstat(&folder.held).map(|stat| (stat.st_dev, stat.st_ino));
        matches!((which(self), which(other)), (Ok(one), Ok(two)) if one == two)
    }

    /// Returns when this folder was last changed.
    pub(super) fn changed_at(&self) -> Result<Timestamp, SecretError> {
        let stat = rustix::fs::fstat(&self.held).map_err(self.failed("look at", ""))?;
        Ok(changed_at(&stat))
    }

    fn failed<'a>(&'a self, act: &'static str, name: &'a str) -> impl FnOnce(Errno) -> SecretError + 'a {
        move |error| io(act, &self.path.join(name))(error.into())
    }
}

/// Refuses what others may read, and what is another user's: that user could change it.
fn refuse_open(stat: &Stat, path: &Path) -> Result<(), SecretError> {
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if is_ours && stat.st_mode & OTHERS == 0 { Ok(()) } else { Err(SecretError::Open(path.to_owned())) }
}

fn changed_at(stat: &Stat) -> Timestamp {
    let nanos = i32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    Timestamp::new(stat.st_mtime, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn io(act: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SecretError {
    let path = path.to_owned();
    move |source| SecretError::Io { act, path, source }
}
