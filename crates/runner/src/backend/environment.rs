//! The environment variables and private files of an agent.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use secrecy::SecretString;

/// Variables of the runner that an agent needs to find programs and to decode text.
const INHERITED: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "TERM"];

/// Returns the variables of the runner that agents inherit.
pub(super) fn inherited() -> impl Iterator<Item = (String, String)> {
    INHERITED
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?.into_string().ok()?)))
}

/// Adds variables to the secrets. The last one of a name wins, so no secret can replace a variable that we set.
pub(super) fn with_secrets(
    secrets: &[(String, SecretString)],
    variables: impl Iterator<Item = (String, String)>,
) -> Vec<(String, SecretString)> {
    let variables = variables.map(|(name, value)| (name, SecretString::from(value)));
    secrets.iter().cloned().chain(variables).collect()
}

/// Creates a directory and its parents, accessible only to this user.
pub(super) fn create_private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file atomically, accessible only to this user. Replaces whatever exists at the path.
pub(super) fn write_private_file(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let _not_found = fs::remove_file(&new);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    fs::rename(new, path)
}
