//! The key and the certificate of an AID, as files of the user.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::{Aid, AidName};
use guildhall_identity::pki::{Curve, EcKey, P256PublicKey};
use secrecy::ExposeSecret;

/// A new key that only the user can read.
pub(crate) struct KeyFiles {
    key: EcKey,
    directory: PathBuf,
    path: PathBuf,
}

impl KeyFiles {
    /// Generates a key and writes it. An existing file is not replaced.
    pub(crate) fn create(directory: &Path, name: &AidName) -> Result<Self> {
        let key = EcKey::generate(Curve::P256)?;
        let path = directory.join(format!("{name}.key"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.with_context(|| format!("cannot create {}", path.display()))?;
        file.write_all(key.to_pem().expose_secret().as_bytes())?;
        file.sync_all()?;
        Ok(Self { key, directory: directory.to_owned(), path })
    }

    pub(crate) fn public_key(&self) -> Result<String> {
        Ok(STANDARD.encode(P256PublicKey::of(&self.key)?.spki()))
    }

    /// Removes the key of an AID that was not created.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Names the key after its AID, and writes the certificate. Existing files are not replaced. Returns both paths.
    pub(crate) fn finish(self, aid: &Aid, certificate: &str) -> Result<(PathBuf, PathBuf)> {
        let path = self.directory.join(format!("{aid}.crt"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = file.with_context(|| format!("cannot create {}", path.display()))?;
        file.write_all(certificate.as_bytes())?;
        let key = self.directory.join(format!("{aid}.key"));
        // A link, unlike a rename, replaces no file.
        fs::hard_link(&self.path, &key).with_context(|| format!("cannot create {}", key.display()))?;
        fs::remove_file(&self.path)?;
        Ok((key, path))
    }
}
