//! Files with one credential. No sandbox contains them.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

/// Longer than any credential; a larger file is a mistake.
const MAX_BYTES: u64 = 16 * 1024;

/// Why a file cannot be used. Messages contain nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialFileError {
    #[error("the file is not accessible")]
    Inaccessible,
    #[error("the file is accessible to everyone: restrict it to its owner (mode 0600)")]
    Permissions,
    #[error("the file is not a text of at most 16 KiB")]
    NotText,
    #[error("the file is empty")]
    Empty,
    #[error("the file has more than one line")]
    SeveralLines,
}

/// Reads the only line of a file; `None` if there is no file.
pub fn read(path: &Path) -> Result<Option<SecretString>, CredentialFileError> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    let mut lines = text.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(Some(SecretString::from(line))),
        (None, _) => Err(CredentialFileError::Empty),
        (Some(_), Some(_)) => Err(CredentialFileError::SeveralLines),
    }
}

/// Reads a file, such as a private key; `None` if there is none. Its group may read it too, as in a mounted volume.
pub fn read_text(path: &Path) -> Result<Option<SecretString>, CredentialFileError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|_| CredentialFileError::Inaccessible)?,
    };
    let metadata = file.metadata().map_err(|_| CredentialFileError::Inaccessible)?;
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(CredentialFileError::Permissions);
    }
    let mut text = String::new();
    let read =
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|_| CredentialFileError::NotText)?;
    if read as u64 > MAX_BYTES {
        return Err(CredentialFileError::NotText);
    }
    Ok(Some(SecretString::from(text)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_line_of_a_private_file_is_read() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("credential");
        let read = || read(&path).map(|found| found.map(|line| line.expose_secret().to_owned()));
        assert_eq!(read(), Ok(None));
        let large = "c".repeat(20_000);
        for (text, mode, expected) in [
            ("\n hunter2 \n", 0o600, Ok(Some("hunter2".to_owned()))),
            ("hunter2", 0o440, Ok(Some("hunter2".to_owned()))),
            ("hunter2", 0o604, Err(CredentialFileError::Permissions)),
            (&large, 0o600, Err(CredentialFileError::NotText)),
            ("\n", 0o600, Err(CredentialFileError::Empty)),
            ("one\ntwo", 0o600, Err(CredentialFileError::SeveralLines)),
        ] {
            let _missing = fs::remove_file(&path);
            fs::write(&path, text).expect("write file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set mode");
            assert_eq!(read(), expected, "{mode:o}");
        }
    }
}
