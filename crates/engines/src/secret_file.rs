//! Files that hold a generated password.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use crate::EngineError;

/// Makes a password that nobody can guess: 256 random bits.
pub(crate) fn generate(path: &Path) -> Result<SecretString, EngineError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|source| EngineError::io("ask for random bytes for", path)(std::io::Error::other(source)))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

/// Returns the password kept in a file, made on the first call.
pub(crate) fn keep(path: &Path) -> Result<SecretString, EngineError> {
    match fs::read_to_string(path) {
        Ok(kept) if !kept.is_empty() => Ok(kept.into()),
        Ok(_) => make(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(path),
        Err(error) => Err(EngineError::io("read", path)(error)),
    }
}

fn make(path: &Path) -> Result<SecretString, EngineError> {
    let secret = generate(path)?;
    let fresh = path.with_extension("new");
    write(&fresh, secret.expose_secret())?;
    fs::rename(&fresh, path).map_err(EngineError::io("write", path))?;
    Ok(secret)
}

/// Writes a file that only its owner can read, from its first byte on.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), EngineError> {
    if path.exists() {
        fs::remove_file(path).map_err(EngineError::io("replace", path))?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(EngineError::io("write", path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(EngineError::io("write", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_kept_password_stays_the_same_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        let first = keep(&path).expect("made");
        let second = keep(&path).expect("kept");
        assert_eq!(first.expose_secret(), second.expose_secret());
        assert_eq!(first.expose_secret().len(), 64);
        let mode = fs::metadata(&path).expect("written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
