//! Files with generated passwords.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use crate::EngineError;

/// Generates a password with 256 random bits.
pub(crate) fn generate(path: &Path) -> Result<SecretString, EngineError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|source| {
        EngineError::io("generate random bytes for", path)(std::io::Error::other(source))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

/// Returns the password in a file, which is generated on the first call.
pub(crate) fn load_or_create(path: &Path) -> Result<SecretString, EngineError> {
    match fs::read_to_string(path) {
        Ok(stored) if !stored.is_empty() => Ok(stored.into()),
        Ok(_) => create(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => create(path),
        Err(error) => Err(EngineError::io("read", path)(error)),
    }
}

fn create(path: &Path) -> Result<SecretString, EngineError> {
    let secret = generate(path)?;
    let temp = path.with_extension("new");
    write(&temp, secret.expose_secret())?;
    fs::rename(&temp, path).map_err(EngineError::io("write", path))?;
    Ok(secret)
}

/// Writes a file that is created with mode 0600.
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
    fn stored_password_is_stable_and_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        let first = load_or_create(&path).expect("created");
        let second = load_or_create(&path).expect("loaded");
        assert_eq!(first.expose_secret(), second.expose_secret());
        assert_eq!(first.expose_secret().len(), 64);
        let mode = fs::metadata(&path).expect("written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
