//! The TLS port: its certificate and its key, which are read again when their files change.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guildhall_api::{CertificateError, ServerCertificate, TlsListener};
use guildhall_runtime::reconcile::Reconciler;
use secrecy::zeroize::Zeroizing;
use tokio::net::TcpListener;
use tracing::info;

use crate::config;

/// Longest file: a chain of certificates has a few kilobytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Why the server cannot use TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsConfigError {
    #[error(
        "http.tls_listen, http.tls_certificate_file and http.tls_key_file belong together: set all three, or none"
    )]
    Incomplete,
    #[error(
        "http.tls_listen {0} is not a loopback address: set http.public_url (GUILDHALL_HTTP_PUBLIC_URL) to the URL that \
         clients use, such as https://guildhall.example.org"
    )]
    NoPublicUrl(SocketAddr),
    #[error("cannot read {key} {}", path.display())]
    Read {
        key: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("other users can read http.tls_key_file {}: run `chmod 600 {}`", .0.display(), .0.display())]
    Permissions(PathBuf),
    #[error(
        "cannot use http.tls_certificate_file {} with http.tls_key_file {}: {source}",
        certificate.display(),
        key.display()
    )]
    Certificate {
        certificate: PathBuf,
        key: PathBuf,
        #[source]
        source: CertificateError,
    },
    #[error("cannot set up TLS")]
    Setup(#[from] rustls::Error),
}

/// The files of the TLS port, and what they held when they were read last.
#[derive(Debug)]
pub(crate) struct TlsFiles {
    certificate_file: PathBuf,
    key_file: PathBuf,
    loaded: Mutex<Contents>,
    certificate: Arc<ServerCertificate>,
}

/// The text of the certificate and of the key.
#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Contents([redacted])")
    }
}

impl TlsFiles {
    /// Reads the configured files. Returns none where the server has no TLS port.
    pub(crate) fn configured(http: &config::Http) -> Result<Option<Self>, TlsConfigError> {
        let files = [&http.tls_certificate_file, &http.tls_key_file];
        let Some(listen) = http.tls_listen else {
            let is_unset = files.iter().all(|file| file.is_empty());
            return if is_unset { Ok(None) } else { Err(TlsConfigError::Incomplete) };
        };
        if files.iter().any(|file| file.is_empty()) {
            return Err(TlsConfigError::Incomplete);
        }
        // Without it, the server would take itself for one that only this machine can reach.
        if !listen.ip().is_loopback() && http.public_url.is_empty() {
            return Err(TlsConfigError::NoPublicUrl(listen));
        }
        let (certificate_file, key_file) =
            (PathBuf::from(&http.tls_certificate_file), PathBuf::from(&http.tls_key_file));
        let contents = Contents::read(&certificate_file, &key_file)?;
        let certificate = ServerCertificate::from_pem(&contents.certificate, &contents.key);
        let certificate = certificate.map_err(|source| TlsConfigError::Certificate {
            certificate: certificate_file.clone(),
            key: key_file.clone(),
            source,
        })?;
        let (loaded, certificate) = (Mutex::new(contents), Arc::new(certificate));
        Ok(Some(Self { certificate_file, key_file, loaded, certificate }))
    }

    /// Returns the TLS port on a listener.
    pub(crate) fn listener(&self, listener: TcpListener) -> Result<TlsListener, TlsConfigError> {
        Ok(TlsListener::new(listener, Arc::clone(&self.certificate))?)
    }

    /// Uses what is in the files now, where it has changed. Otherwise, and where it cannot be used, nothing changes.
    fn reload(&self) -> Result<(), TlsConfigError> {
        let contents = Contents::read(&self.certificate_file, &self.key_file)?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if contents == *loaded {
            return Ok(());
        }
        self.certificate.replace(&contents.certificate, &contents.key).map_err(|source| {
            TlsConfigError::Certificate {
                certificate: self.certificate_file.clone(),
                key: self.key_file.clone(),
                source,
            }
        })?;
        *loaded = contents;
        info!(file = %self.certificate_file.display(), "the TLS certificate was replaced");
        Ok(())
    }
}

impl Contents {
    fn read(certificate: &Path, key: &Path) -> Result<Self, TlsConfigError> {
        let name = "http.tls_certificate_file";
        let certificate = read(name, certificate, open(name, certificate)?)?;
        let (name, path) = ("http.tls_key_file", key);
        let file = open(name, path)?;
        let metadata = file.metadata().map_err(read_error(name, path))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(TlsConfigError::Permissions(path.to_owned()));
        }
        Ok(Self { certificate, key: Zeroizing::new(read(name, path, file)?) })
    }
}

fn open(key: &'static str, path: &Path) -> Result<File, TlsConfigError> {
    File::open(path).map_err(read_error(key, path))
}

fn read(key: &'static str, path: &Path, file: File) -> Result<Vec<u8>, TlsConfigError> {
    // As long as the longest file: a buffer that grows leaves copies of the key behind.
    let mut bytes = Vec::with_capacity(usize::try_from(MAX_BYTES).unwrap_or_default());
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(read_error(key, path))?;
    Ok(bytes)
}

fn read_error(key: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TlsConfigError {
    let path = path.to_owned();
    move |source| TlsConfigError::Read { key, path, source }
}

/// Replaces the certificate when its files change.
pub(crate) struct ReloadCertificate(pub(crate) Arc<TlsFiles>);

impl ReloadCertificate {
    /// A certificate is replaced days before it expires.
    pub(crate) const INTERVAL: Duration = Duration::from_secs(5);
}

impl Reconciler for ReloadCertificate {
    type Error = TlsConfigError;

    const NAME: &'static str = "tls-certificate";

    async fn round(&self) -> Result<(), TlsConfigError> {
        let files = Arc::clone(&self.0);
        // The files may be on a network file system.
        tokio::task::spawn_blocking(move || files.reload()).await.unwrap_or(Ok(()))
    }
}
