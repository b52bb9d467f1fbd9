//! What an agent finds when it starts: folders and files of its own, and an environment that is empty but for a short
//! list.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// What of our own environment an agent needs to find programs and to read text.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "TERM"];

/// Returns what of our own environment goes along.
pub(super) fn passed_on() -> impl Iterator<Item = (String, String)> {
    PASSED_ON
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?.into_string().ok()?)))
}

/// Makes a folder that is nobody else's, and all above it.
pub(super) fn folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file of our own in one step, in place of whatever is there.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let _none_is_left = fs::remove_file(&new);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    fs::rename(new, path)
}
