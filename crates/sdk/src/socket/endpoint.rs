//! Where the socket is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use url::Url;

use crate::{Client, ClientSetupError};

/// The path of the socket below the URL of a server.
const SOCKET_PATH: &str = "aun";

/// The socket of one installation, which may have several gateways. Cheap to clone; clones change the gateway together.
#[derive(Debug, Clone)]
pub struct SocketEndpoint {
    gateways: Arc<[Gateway]>,
    current: Arc<AtomicUsize>,
}

/// One URL of the socket.
#[derive(Debug, Clone)]
pub(super) struct Gateway {
    /// Speaks HTTP/1.1 to the host of the socket.
    pub(super) client: Client,
    /// The socket, with the scheme of the request that opens it: http or https.
    pub(super) socket: Url,
}

impl SocketEndpoint {
    /// Takes the URL of a server, such as `https://guild.example`, or of a socket, such as `wss://guild.example/aun`. Also
    /// trusts root certificates in PEM, for TLS.
    pub fn new(url: &str, tls_roots_pem: &[u8]) -> Result<Self, ClientSetupError> {
        Self::with_gateways(&[url], tls_roots_pem)
    }

    /// Takes several URLs of one installation. The next one is used when one fails.
    pub fn with_gateways(urls: &[&str], tls_roots_pem: &[u8]) -> Result<Self, ClientSetupError> {
        let gateways = urls.iter().map(|url| Gateway::new(url, tls_roots_pem));
        let gateways = gateways.collect::<Result<Vec<_>, _>>()?;
        if gateways.is_empty() {
            return Err(ClientSetupError::InvalidUrl);
        }
        Ok(Self { gateways: gateways.into(), current: Arc::default() })
    }

    /// Returns the URL of the gateway that is used next, without a path.
    #[must_use]
    pub fn url(&self) -> &str {
        self.gateway().1.client.base_url()
    }

    /// Returns a client of the gateway that is used now, without a token.
    pub(crate) fn client(&self) -> &Client {
        &self.gateway().1.client
    }

    /// Returns the gateway that is used now, with its number.
    pub(super) fn gateway(&self) -> (usize, &Gateway) {
        let current = self.current.load(Ordering::Relaxed) % self.gateways.len();
        (current, &self.gateways[current])
    }

    /// Changes to the next gateway, unless somebody else did.
    pub(super) fn failed(&self, gateway: usize) {
        let next = (gateway + 1) % self.gateways.len();
        let _changed_already =
            self.current.compare_exchange(gateway, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Gateway {
    fn new(text: &str, tls_roots_pem: &[u8]) -> Result<Self, ClientSetupError> {
        let mut url = Url::parse(text).map_err(|_| ClientSetupError::InvalidUrl)?;
        let is_socket = ["ws", "wss"].contains(&url.scheme());
        let scheme = match url.scheme() {
            "ws" | "http" => "http",
            "wss" | "https" => "https",
            _ => return Err(ClientSetupError::InvalidUrl),
        };
        // Both are special schemes, so this does not fail.
        url.set_scheme(scheme).map_err(|()| ClientSetupError::InvalidUrl)?;
        // Rejects a query, a fragment and a password.
        let mut client = Client::for_upgrades(url.as_str(), tls_roots_pem)?;
        if is_socket {
            let socket = url.clone();
            // Certificates are at the same host and port.
            url.set_path("/");
            client = Client::for_upgrades(url.as_str(), tls_roots_pem)?;
            return Ok(Self { client, socket });
        }
        let socket = Url::parse(client.base_url()).and_then(|base| base.join(SOCKET_PATH));
        Ok(Self { socket: socket.map_err(|_| ClientSetupError::InvalidUrl)?, client })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(urls: &[&str]) -> Result<SocketEndpoint, ClientSetupError> {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        SocketEndpoint::with_gateways(urls, &[])
    }

    #[test]
    fn url_of_a_server_or_of_its_socket_is_accepted() {
        for (url, socket, base) in [
            ("http://127.0.0.1:7117", "http://127.0.0.1:7117/aun", "http://127.0.0.1:7117/"),
            ("https://guild.example/", "https://guild.example/aun", "https://guild.example/"),
            ("https://guild.example/g", "https://guild.example/g/aun", "https://guild.example/g/"),
            ("wss://guild.example/aun", "https://guild.example/aun", "https://guild.example/"),
            ("ws://[::1]:1/socket", "http://[::1]:1/socket", "http://[::1]:1/"),
        ] {
            let endpoint = endpoint(&[url]).expect(url);
            let (_, gateway) = endpoint.gateway();
            assert_eq!((gateway.socket.as_str(), endpoint.url()), (socket, base), "{url}");
        }
    }

    #[test]
    fn other_urls_are_rejected_and_not_printed() {
        for url in
            ["ftp://hunter2", "wss://me:hunter2@guild.example/aun", "wss://g.example/aun?token=hunter2", ""]
        {
            let error = endpoint(&[url]).expect_err(url);
            assert!(!format!("{error:?} {error}").contains("hunter2"));
        }
        assert!(endpoint(&[]).is_err());
    }

    #[test]
    fn next_gateway_is_used_after_a_failure_of_the_current_one() {
        let endpoint = endpoint(&["http://127.0.0.1:1", "http://127.0.0.1:2"]).expect("fine");
        let clone = endpoint.clone();
        for (failed, expected) in [(0, 1), (0, 1), (1, 0), (1, 0)] {
            clone.failed(failed);
            assert_eq!(endpoint.gateway().0, expected);
        }
    }
}
