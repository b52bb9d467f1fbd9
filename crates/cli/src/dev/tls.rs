//! TLS of `guildhall dev --tls`: a root and a certificate in the state directory.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use guildhall_identity::pki::{LocalCertificate, ServerNames, verify_server};
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;

use crate::dev_state::{TLS_CERTIFICATE_FILE, TLS_DIR, TLS_ROOT_FILE, TLS_URL_FILE};

/// The port, if it is free.
pub(super) const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7443);

const KEY_FILE: &str = "server.key";

/// A certificate that is valid for less time is replaced at start.
const MIN_VALIDITY: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The files of the TLS port.
pub(super) struct TlsFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// Returns the files in the state directory. Creates a root and a certificate unless there are some that remain valid.
pub(super) fn prepare(state: &Path, issuer: &str) -> Result<TlsFiles> {
    let folder = state.join(TLS_DIR);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let files = TlsFiles { certificate: folder.join(TLS_CERTIFICATE_FILE), key: folder.join(KEY_FILE) };
    let now = Clock::system().now();
    if is_usable(&folder, issuer, now) {
        return Ok(files);
    }
    let names = ["localhost".to_owned(), issuer.to_owned(), format!("*.{issuer}")];
    let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let made = LocalCertificate::create(ServerNames { names: &names, addresses: &addresses }, now)?;
    write(&folder.join(TLS_ROOT_FILE), &made.root_pem, 0o644)?;
    write(&files.certificate, &made.certificate_pem, 0o644)?;
    write(&files.key, made.key_pem.expose_secret(), 0o600)?;
    Ok(files)
}

/// Returns whether the files belong together, and are valid for all names for some time.
fn is_usable(folder: &Path, issuer: &str, now: Timestamp) -> bool {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    let (Some(root), Some(certificate), Some(key)) =
        (read(TLS_ROOT_FILE), read(TLS_CERTIFICATE_FILE), read(KEY_FILE))
    else {
        return false;
    };
    let names = ["localhost", "127.0.0.1", "::1", issuer, &format!("gateway.{issuer}")];
    LocalCertificate::is_pair(&certificate, &key.into()) == Ok(true)
        && names.iter().all(|name| verify_server(&root, &certificate, name, now + MIN_VALIDITY).is_ok())
}

/// Replaces a file.
fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let written = remove(path).and_then(|()| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Writes the URL of the running server for `guildhall doctor`, or removes that of an earlier one.
pub(super) fn record_url(state: &Path, address: Option<SocketAddr>) -> Result<()> {
    let path = state.join(TLS_DIR).join(TLS_URL_FILE);
    match address {
        Some(address) => write(&path, &format!("https://{address}"), 0o644),
        None => remove(&path).with_context(|| format!("cannot remove {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn certificate_is_kept_while_it_is_valid_for_the_issuer() {
        let state = tempfile::tempdir().expect("a directory");
        let root = || std::fs::read_to_string(state.path().join("tls/root.crt")).expect("a root");
        let files = prepare(state.path(), "guildhall.test").expect("created");
        let first = root();
        prepare(state.path(), "guildhall.test").expect("kept");
        assert_eq!(root(), first);
        let mode = files.key.metadata().expect("a key").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);

        prepare(state.path(), "other.test").expect("created");
        assert_ne!(root(), first, "another issuer");
        let second = root();
        std::fs::write(&files.key, "broken").expect("written");
        prepare(state.path(), "other.test").expect("created");
        assert_ne!(root(), second, "a broken key");
        assert!(is_usable(&state.path().join("tls"), "other.test", Clock::system().now()));
    }

    #[test]
    fn expiring_certificate_is_not_usable() {
        let state = tempfile::tempdir().expect("a directory");
        prepare(state.path(), "guildhall.test").expect("created");
        let at = |hours| Clock::system().now() + SignedDuration::from_hours(hours);
        let is_usable = |now| is_usable(&state.path().join("tls"), "guildhall.test", now);
        assert!(is_usable(at(600 * 24)));
        assert!(!is_usable(at(720 * 24)));
    }
}
