//! The certificates and sealed keys of the AUN issuer: `<root>/aun/*.crt` and `<root>/aun/*.key`.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::agent_key_folder::AgentKeyFolder;
use super::file_store::TEMP_PREFIX;
use super::private_dir::PrivateDir;
use super::store::SecretError;

const FOLDER: &str = "aun";
const MAX_FILE_BYTES: u64 = 16 * 1024;

/// A file of the issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerFile {
    RootCertificate,
    RootKey,
    IssuerCertificate,
    IssuerKey,
    AuthCertificate,
    AuthKey,
    /// Signs the heads of the transparency log.
    LogKey,
    /// Certificate and key of the authority that signs the list of trusted roots.
    TrustCertificate,
    TrustKey,
}

impl IssuerFile {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RootCertificate => "root.crt",
            Self::RootKey => "root.key",
            Self::IssuerCertificate => "issuer.crt",
            Self::IssuerKey => "issuer.key",
            Self::AuthCertificate => "auth.crt",
            Self::AuthKey => "auth.key",
            Self::LogKey => "log.key",
            Self::TrustCertificate => "trust.crt",
            Self::TrustKey => "trust.key",
        }
    }
}

/// The folder of the issuer. No other user can read it. Every replica needs the same files.
#[derive(Debug, Clone)]
pub struct IssuerFolder {
    root: PathBuf,
}

impl IssuerFolder {
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the folder beside this one, with the keys of agents.
    #[must_use]
    pub fn agent_keys(&self) -> AgentKeyFolder {
        AgentKeyFolder::new(&self.root)
    }

    /// Returns whether the files were written.
    pub fn exists(&self) -> Result<bool, SecretError> {
        Ok(self.find()?.is_some())
    }

    pub fn read(&self, file: IssuerFile) -> Result<Option<String>, SecretError> {
        let Some(folder) = self.find()? else { return Ok(None) };
        Ok(folder.read(file.name(), MAX_FILE_BYTES)?.map(|read| read.text))
    }

    /// Writes all files at once: a folder with some of them is never seen. Returns false where the folder exists.
    pub fn create(&self, files: &[(IssuerFile, String)]) -> Result<bool, SecretError> {
        let root = PrivateDir::create(&self.root)?;
        if root.open(FOLDER)?.is_some() {
            return Ok(false);
        }
        let temporary = format!("{TEMP_PREFIX}{}", Uuid::now_v7().simple());
        let folder = root.open_or_create(&temporary)?;
        for (file, text) in files {
            folder.write(file.name(), text)?;
        }
        // Another process may have been faster; then its files stay.
        let renamed = root.rename(&temporary, FOLDER);
        if renamed.is_err() {
            root.remove(&temporary)?;
        }
        match renamed {
            Err(_) if root.open(FOLDER)?.is_some() => Ok(false),
            renamed => renamed,
        }
    }

    /// Adds a file to the folder, which must exist. Returns false where the file exists, which stays as it is.
    pub fn add(&self, file: IssuerFile, text: &str) -> Result<bool, SecretError> {
        let folder = self.find()?.ok_or_else(|| SecretError::InvalidFormat(self.root.join(FOLDER)))?;
        if folder.read(file.name(), MAX_FILE_BYTES)?.is_some() {
            return Ok(false);
        }
        let temporary = format!("{TEMP_PREFIX}{}", Uuid::now_v7().simple());
        folder.write(&temporary, text)?;
        let renamed = folder.rename(&temporary, file.name());
        if renamed.is_err() {
            folder.remove_file(&temporary)?;
        }
        renamed
    }

    /// Replaces a file of the folder, which must exist. Readers see the old or the new one.
    pub fn replace(&self, file: IssuerFile, text: &str) -> Result<(), SecretError> {
        let folder = self.find()?.ok_or_else(|| SecretError::InvalidFormat(self.root.join(FOLDER)))?;
        let temporary = format!("new-{}", Uuid::now_v7().simple());
        folder.write(&temporary, text)?;
        let replaced = folder.replace_file(&temporary, file.name());
        if replaced.is_err() {
            folder.remove_file(&temporary)?;
        }
        replaced
    }

    fn find(&self) -> Result<Option<PrivateDir>, SecretError> {
        match PrivateDir::find(&self.root)? {
            Some(root) => root.open(FOLDER),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_written_once_and_are_private() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().join("secrets");
        let folder = IssuerFolder::new(&root);
        assert!(!folder.exists().expect("looked"));
        assert_eq!(folder.read(IssuerFile::IssuerKey).expect("read"), None);
        let files = [(IssuerFile::IssuerKey, "sealed".to_owned())];
        assert!(folder.create(&files).expect("written"));
        assert!(!folder.create(&[(IssuerFile::IssuerKey, "other".to_owned())]).expect("looked"));
        assert_eq!(folder.read(IssuerFile::IssuerKey).expect("read").as_deref(), Some("sealed"));
        assert_eq!(folder.read(IssuerFile::RootKey).expect("read"), None);
        assert!(folder.add(IssuerFile::LogKey, "sealed").expect("added"));
        assert!(!folder.add(IssuerFile::LogKey, "other").expect("looked"));
        assert_eq!(folder.read(IssuerFile::LogKey).expect("read").as_deref(), Some("sealed"));
        folder.replace(IssuerFile::LogKey, "newer").expect("replaced");
        assert_eq!(folder.read(IssuerFile::LogKey).expect("read").as_deref(), Some("newer"));
        let files = std::fs::read_dir(root.join("aun")).expect("listed").count();
        assert_eq!(files, 2, "no temporary file is left");
        let key = root.join("aun/issuer.key");
        assert_eq!(std::fs::metadata(&key).expect("a file").permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("changed");
        assert!(matches!(folder.read(IssuerFile::IssuerKey), Err(SecretError::InsecurePermissions(_))));
        let left: Vec<_> = std::fs::read_dir(&root).expect("listed").collect();
        assert_eq!(left.len(), 1, "no temporary folder is left: {left:?}");
    }
}
