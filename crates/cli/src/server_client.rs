//! Clients of servers, with the root certificates of this user and of `guildhall dev --tls`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use guildhall_sdk::Client;
use guildhall_sdk::socket::SocketEndpoint;
use url::{Host, Url};

use crate::dev_state::{default_state_dir, tls_root_file};

/// Names a file with root certificates in PEM that are trusted besides those of the system.
const CA_FILE: &str = "GUILDHALL_CA_FILE";

/// Creates a client of a server.
pub(crate) fn client(url: &str) -> Result<Client> {
    Ok(Client::with_root_certificates(url, &root_certificates(url)?)?)
}

/// Returns the socket of a server, which is named by its own URL or by that of the server.
pub(crate) fn socket_endpoint(url: &str) -> Result<SocketEndpoint> {
    Ok(SocketEndpoint::new(url, &root_certificates(url)?)?)
}

/// Returns the root certificates in PEM that are trusted besides those of the system; nothing if there are none.
fn root_certificates(url: &str) -> Result<Vec<u8>> {
    let Some(file) = root_file(url) else { return Ok(Vec::new()) };
    std::fs::read(&file).with_context(|| {
        format!("cannot read {}, the root certificates ({CA_FILE} names another file)", file.display())
    })
}

/// Returns the file that the environment names, or the root of the `guildhall dev --tls` of this directory.
fn root_file(url: &str) -> Option<PathBuf> {
    let url = Url::parse(url).ok().filter(|url| ["https", "wss"].contains(&url.scheme()))?;
    if let Some(file) = std::env::var_os(CA_FILE).filter(|file| !file.is_empty()) {
        return Some(PathBuf::from(file));
    }
    let root = tls_root_file(&default_state_dir());
    (is_loopback(&url) && root.is_file()).then_some(root)
}

/// Returns whether a URL names this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
