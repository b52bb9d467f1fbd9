//! An issuer where everybody may register.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};
use guildhall_identity::pki::{LocalCertificate, ServerNames};
use guildhall_runtime::Clock;
use guildhall_sdk::socket::SocketEndpoint;
use secrecy::ExposeSecret;
use tempfile::TempDir;

use crate::installation::{Installation, ServerProcess};

pub(super) const ISSUER: &str = "bench.example";

/// How clients reach the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Plain,
    Tls,
}

/// A server with its issuer, and where its socket is.
pub(crate) struct Gateway {
    pub(crate) installation: Installation,
    pub(crate) endpoint: SocketEndpoint,
    settings: Vec<(&'static str, String)>,
    _folder: TempDir,
}

/// All clients have the same address, and register faster than one should.
const LIMITS: [(&str, &str); 4] = [
    ("GUILDHALL_SOCKETS_MAX_PER_ADDRESS", "50000"),
    ("GUILDHALL_SOCKETS_MAX_UNAUTHENTICATED_PER_ADDRESS", "2000"),
    ("GUILDHALL_LIMITS_SIGN_IN", ""),
    ("GUILDHALL_LIMITS_ACCOUNT", ""),
];

/// Which limits a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressLimits {
    Default,
    /// All clients of a benchmark may have one address.
    Raised,
}

impl Gateway {
    pub(crate) fn start(transport: Transport, limits: AddressLimits) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut settings = vec![
            ("GUILDHALL_AUN_ISSUER", ISSUER.to_owned()),
            ("GUILDHALL_AUN_REGISTRATION", "open".to_owned()),
            ("GUILDHALL_SECRETS_FOLDER", path("secrets")),
        ];
        if limits == AddressLimits::Raised {
            settings.extend(LIMITS.map(|(name, value)| (name, value.to_owned())));
        }
        let (mut url, mut roots) = (None, String::new());
        if transport == Transport::Tls {
            let certificate = local_certificate()?;
            std::fs::write(path("certificate.pem"), &certificate.certificate_pem)?;
            write_private(&path("key.pem"), certificate.key_pem.expose_secret())?;
            let address = free_address()?;
            settings.extend([
                ("GUILDHALL_HTTP_TLS_LISTEN", address.clone()),
                ("GUILDHALL_HTTP_TLS_CERTIFICATE_FILE", path("certificate.pem")),
                ("GUILDHALL_HTTP_TLS_KEY_FILE", path("key.pem")),
            ]);
            (url, roots) = (Some(format!("https://{address}")), certificate.root_pem);
        }
        let installation = Installation::start_with_settings(&settings)?;
        let url = url.unwrap_or_else(|| installation.base.clone());
        let endpoint = SocketEndpoint::new(&url, roots.as_bytes())?;
        Ok(Self { installation, endpoint, settings, _folder: folder })
    }

    /// Starts another server of the same issuer, without TLS of its own.
    pub(crate) fn start_replica(&self) -> Result<(ServerProcess, SocketEndpoint)> {
        let replica = self.installation.start_replica(&self.settings)?;
        let endpoint = SocketEndpoint::new(&replica.base, &[])?;
        Ok((replica, endpoint))
    }
}

fn local_certificate() -> Result<LocalCertificate> {
    let names = ServerNames { names: &[], addresses: &[Ipv4Addr::LOCALHOST.into()] };
    Ok(LocalCertificate::create(names, Clock::system().now())?)
}

/// The server refuses a key that others may read.
fn write_private(path: &str, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes()).context("cannot write the key")
}

fn free_address() -> Result<String> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.to_string())
}
