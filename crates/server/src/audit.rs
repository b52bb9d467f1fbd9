//! The key that signs audit logs, and the file for their anchors.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_identity::audit_key::{AuditKeyError, AuditSigningKey};
use guildhall_identity::seal::Kek;
use guildhall_runtime::Clock;
use guildhall_service::access::audit_anchors::{AnchorFile, AnchorFileError};
use guildhall_service::access::audit_seal::CheckpointSigner;
use secrecy::{ExposeSecret, SecretString};
use tempfile::NamedTempFile;

use crate::config;

/// Longest key file.
const MAX_KEY_BYTES: u64 = 4096;

/// Why the section `audit` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuditConfigError {
    #[error("audit.anchor_file requires audit.signing_key_file: only signed logs are anchored")]
    AnchorWithoutKey,
    #[error(
        "cannot read audit.signing_key_file {}: create it with `guildhall init`, or copy it from another replica",
        path.display()
    )]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot create audit.signing_key_file {}", path.display())]
    Create {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("other users can read audit.signing_key_file {}: run `chmod 600 {}`", .0.display(), .0.display())]
    Permissions(PathBuf),
    #[error("cannot use audit.signing_key_file {}", path.display())]
    Key {
        path: PathBuf,
        #[source]
        source: AuditKeyError,
    },
    #[error("cannot create audit.anchor_file {}", path.display())]
    Anchor {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Anchors(#[from] AnchorFileError),
}

/// Reads the signing key, where one is configured.
pub(crate) fn signing_key(config: &config::Audit) -> Result<Option<Arc<AuditSigningKey>>, AuditConfigError> {
    if config.signing_key_file.is_empty() {
        return if config.anchor_file.is_empty() {
            Ok(None)
        } else {
            Err(AuditConfigError::AnchorWithoutKey)
        };
    }
    let path = Path::new(&config.signing_key_file);
    let read_error = |source| AuditConfigError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(read_error)?;
    if file.metadata().map_err(read_error)?.permissions().mode() & 0o077 != 0 {
        return Err(AuditConfigError::Permissions(path.to_owned()));
    }
    let mut text = String::new();
    file.take(MAX_KEY_BYTES).read_to_string(&mut text).map_err(read_error)?;
    let key = AuditSigningKey::from_hex(&SecretString::from(text));
    let key = key.map_err(|source| AuditConfigError::Key { path: path.to_owned(), source })?;
    Ok(Some(Arc::new(key)))
}

/// Creates the signing key, where a file is configured that does not exist.
pub(crate) fn create_signing_key(config: &config::Audit) -> Result<(), AuditConfigError> {
    let path = Path::new(&config.signing_key_file);
    if config.signing_key_file.is_empty() || path.exists() {
        return Ok(());
    }
    let create_error = |source| AuditConfigError::Create { path: path.to_owned(), source };
    write_new(path, &Kek::generate().to_hex()).map_err(create_error)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file that only its owner can read. After a crash there is the whole file or none.
fn write_new(path: &Path, text: &SecretString) -> io::Result<()> {
    let folder = folder_of(path);
    let mut file = NamedTempFile::new_in(folder)?;
    writeln!(file, "{}", text.expose_secret())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    File::open(folder)?.sync_all()
}

/// Checks the anchor file, where one is configured. Creates no file.
pub(crate) fn check_anchor_file(config: &config::Audit) -> Result<(), AuditConfigError> {
    let path = Path::new(&config.anchor_file);
    if config.anchor_file.is_empty() {
        return Ok(());
    }
    if path.exists() {
        return Ok(AnchorFile::open(path).map(drop)?);
    }
    let created = NamedTempFile::new_in(folder_of(path));
    created.map(drop).map_err(|source| AuditConfigError::Anchor { path: path.to_owned(), source })
}

/// Opens the anchor file, where one is configured.
pub(crate) fn signer(
    config: &config::Audit,
    clock: &Clock,
    key: Option<Arc<AuditSigningKey>>,
) -> Result<Option<CheckpointSigner>, AuditConfigError> {
    let Some(key) = key else { return Ok(None) };
    let path = Some(Path::new(&config.anchor_file)).filter(|path| !path.as_os_str().is_empty());
    let anchors = path.map(AnchorFile::open).transpose()?;
    Ok(Some(CheckpointSigner::new(key, clock.clone(), anchors)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_key_is_created_once_and_only_the_owner_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.key");
        let config =
            config::Audit { signing_key_file: path.display().to_string(), anchor_file: String::new() };
        create_signing_key(&config).expect("created");
        let text = std::fs::read_to_string(&path).expect("a key");
        let mode = path.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!((mode, signing_key(&config).expect("read").is_some()), (0o600, true));

        create_signing_key(&config).expect("kept");
        assert_eq!(std::fs::read_to_string(&path).expect("a key"), text);
        write_new(&path, &SecretString::from("other")).expect_err("replaces no file");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
