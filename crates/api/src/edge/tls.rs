//! TLS connections: the certificate of the server, which can be replaced while it runs, and the handshake.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The first byte of a TLS connection: a record of the type "handshake".
const HANDSHAKE: u8 = 22;

/// More certificates than any chain has.
const MAX_CHAIN: usize = 10;

/// A certificate or a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("the certificate file has no certificate in PEM")]
    NoCertificate,
    #[error("the key file has no unencrypted private key in PEM")]
    NoKey,
    #[error("the key does not belong to the first certificate, or has a form that is not supported")]
    Pair(#[source] rustls::Error),
}

/// The certificate that the server shows, with its chain and its key.
#[derive(Debug)]
pub struct ServerCertificate(RwLock<Arc<CertifiedKey>>);

impl ServerCertificate {
    /// Parses a certificate, followed by its chain, and its key.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        Ok(Self(RwLock::new(Arc::new(parse(chain, key)?))))
    }

    /// Replaces the certificate. Open connections keep the old one; where the new one cannot be used, all do.
    pub fn replace(&self, chain: &[u8], key: &[u8]) -> Result<(), CertificateError> {
        let parsed = Arc::new(parse(chain, key)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = parsed;
        Ok(())
    }
}

fn parse(chain: &[u8], key: &[u8]) -> Result<CertifiedKey, CertificateError> {
    let chain = CertificateDer::pem_slice_iter(chain).take(MAX_CHAIN).collect::<Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(CertificateError::NoCertificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::NoKey)?;
    CertifiedKey::from_der(chain, key, &default_provider()).map_err(CertificateError::Pair)
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// A port for TLS connections.
pub struct TlsListener {
    pub(crate) listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl TlsListener {
    /// Serves TLS 1.2 and 1.3 on a port.
    pub fn new(listener: TcpListener, certificate: Arc<ServerCertificate>) -> Result<Self, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(certificate);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Clients keep what a resumed session needs, so that it costs the server no memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = Ticketer::new()?;
        config.send_tls13_tickets = 1;
        Ok(Self { listener, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub(crate) fn handshaker(&self, timeout: Duration) -> Handshaker {
        Handshaker { acceptor: self.acceptor.clone(), timeout }
    }
}

/// Makes TLS connections of TCP connections.
#[derive(Clone)]
pub(crate) struct Handshaker {
    acceptor: TlsAcceptor,
    timeout: Duration,
}

/// What the first bytes of a connection were.
pub(crate) enum Handshake {
    Complete(Box<TlsStream<TcpStream>>),
    /// A request without TLS.
    Plain(TcpStream),
}

impl Handshaker {
    /// Waits for the handshake, at most for the time limit.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<Handshake> {
        let handshake = async {
            let mut first = [0];
            // Nothing is allocated for a connection that sends nothing.
            if stream.peek(&mut first).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if first[0] != HANDSHAKE {
                return Ok(Handshake::Plain(stream));
            }
            Ok(Handshake::Complete(Box::new(self.acceptor.accept(stream).await?)))
        };
        tokio::time::timeout(self.timeout, handshake).await?
    }
}
