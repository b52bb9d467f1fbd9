//! Files of JSON in a private folder.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DeviceStoreError;

/// Whoever holds its lock may change files.
const LOCK_FILE: &str = "lock";

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The largest file: the pins of 50,000 AIDs.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A private folder.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Creates a folder where it does not exist. Nobody else may read one that exists.
    pub(super) fn create(path: &Path) -> Result<Self, DeviceStoreError> {
        let created = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path);
        created.map_err(io_error("create", path))?;
        let mode = fs::metadata(path).map_err(io_error("read", path))?.permissions().mode();
        if mode & 0o077 != 0 {
            let protected = fs::set_permissions(path, fs::Permissions::from_mode(FOLDER_MODE));
            protected.map_err(io_error("protect", path))?;
        }
        Ok(Self(path.to_owned()))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Reads a file. One that does not exist is the default.
    pub(super) fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, DeviceStoreError> {
        let path = self.path(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        let mut text = String::new();
        let read = file.take(MAX_BYTES).read_to_string(&mut text);
        read.map_err(io_error("read", &path))?;
        serde_json::from_str(&text).map_err(|_| DeviceStoreError::Damaged { path })
    }

    /// Changes a file while no other process does. Returns the new content.
    pub(super) fn update<T: DeserializeOwned + Serialize + Default>(
        &self,
        name: &str,
        change: impl FnOnce(&mut T),
    ) -> Result<T, DeviceStoreError> {
        self.try_update(name, |content| {
            change(content);
            Ok(())
        })
    }

    /// Changes a file as [`Folder::update`] does. An error of the change leaves the file as it is.
    pub(super) fn try_update<T: DeserializeOwned + Serialize + Default>(
        &self,
        name: &str,
        change: impl FnOnce(&mut T) -> Result<(), DeviceStoreError>,
    ) -> Result<T, DeviceStoreError> {
        let path = self.path(LOCK_FILE);
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).mode(FILE_MODE).open(&path);
        let lock = lock.map_err(io_error("open", &path))?;
        // Held until it is closed. Nobody holds it for longer than one write takes.
        lock.lock().map_err(io_error("lock", &path))?;
        let mut content = self.read(name)?;
        change(&mut content)?;
        self.replace(name, &content)?;
        Ok(content)
    }

    /// Writes a file beside the old one, and puts it in its place.
    fn replace<T: Serialize>(&self, name: &str, content: &T) -> Result<(), DeviceStoreError> {
        let (path, new) = (self.path(name), self.path(&format!("{name}.new")));
        let bytes =
            serde_json::to_vec(content).map_err(|_| DeviceStoreError::Damaged { path: path.clone() })?;
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(true).write(true).mode(FILE_MODE).open(&new);
        let written = file.and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.map_err(io_error("write", &new))?;
        fs::rename(&new, &path).map_err(io_error("replace", &path))
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DeviceStoreError {
    let path = path.to_owned();
    move |source| DeviceStoreError::Io { action, path, source }
}
