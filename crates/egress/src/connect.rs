//! Connections to checked addresses: plain TCP, and an HTTP client for long streams.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Host;

use crate::client::client_builder;
use crate::resolve::{CheckedResolver, ResolveError, resolve_checked};
use crate::{AddressRules, BlockedAddress, EgressError, Resolver, SystemResolver};

/// Covers the lookup and all connection attempts.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens TCP connections to hosts that the address rules allow. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    rules: Arc<AddressRules>,
    resolver: Arc<dyn Resolver>,
    timeout: Duration,
}

/// A connection that was not opened. Messages contain no address.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the host is at {0}")]
    Blocked(#[from] BlockedAddress),
    #[error("cannot reach the host")]
    Unreachable(#[source] io::Error),
    #[error("the host did not respond within {0:?}")]
    TimedOut(Duration),
}

impl Connector {
    /// Creates a connector with the system's resolver.
    #[must_use]
    pub fn new(rules: AddressRules) -> Self {
        Self::with_resolver(rules, Arc::new(SystemResolver::default()))
    }

    /// Creates a connector with another resolver, for tests. Its addresses are checked in the same way.
    #[must_use]
    pub fn with_resolver(rules: AddressRules, resolver: Arc<dyn Resolver>) -> Self {
        Self { rules: Arc::new(rules), resolver, timeout: CONNECT_TIMEOUT }
    }

    /// Connects to one of the host's addresses. A name is resolved once; one blocked address blocks the connection, and
    /// only the checked addresses are tried.
    pub async fn connect(&self, host: &Host<String>, port: u16) -> Result<TcpStream, ConnectError> {
        match timeout(self.timeout, self.connect_checked(host, port)).await {
            Ok(result) => result,
            Err(_) => Err(ConnectError::TimedOut(self.timeout)),
        }
    }

    /// Creates an HTTP client for one host whose connections follow the same rules. It has no limit for a whole call,
    /// because responses are streams: `read_timeout` limits the wait for the next bytes.
    ///
    /// The host is given here, because a client does not resolve an address in a URL, so it would not be checked.
    pub fn streaming_client(
        &self,
        host: &Host<String>,
        read_timeout: Duration,
    ) -> Result<reqwest::Client, EgressError> {
        let literal = match host {
            Host::Domain(_) => Ok(()),
            Host::Ipv4(address) => self.rules.check(IpAddr::V4(*address)),
            Host::Ipv6(address) => self.rules.check(IpAddr::V6(*address)),
        };
        literal.map_err(|reason| EgressError::Blocked { host: host.to_string(), reason })?;
        let (rules, resolver) = (Arc::clone(&self.rules), Arc::clone(&self.resolver));
        client_builder()?
            .dns_resolver(CheckedResolver { rules, resolver })
            .connect_timeout(self.timeout)
            .read_timeout(read_timeout)
            .build()
            .map_err(|error| EgressError::Setup(error.into()))
    }

    async fn connect_checked(&self, host: &Host<String>, port: u16) -> Result<TcpStream, ConnectError> {
        let addresses = match host {
            Host::Domain(name) => {
                resolve_checked(&self.rules, &*self.resolver, name).await.map_err(|error| match error {
                    ResolveError::Blocked(reason) => ConnectError::Blocked(reason),
                    ResolveError::Lookup(error) => ConnectError::Unreachable(error),
                })?
            }
            Host::Ipv4(address) => vec![self.check(IpAddr::V4(*address))?],
            Host::Ipv6(address) => vec![self.check(IpAddr::V6(*address))?],
        };
        connect_any(&addresses, port).await.map_err(ConnectError::Unreachable)
    }

    fn check(&self, address: IpAddr) -> Result<IpAddr, BlockedAddress> {
        self.rules.check(address).map(|()| address.to_canonical())
    }
}

impl Default for Connector {
    fn default() -> Self {
        Self::new(AddressRules::default())
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("rules", &self.rules)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Tries the addresses in order; returns the last error.
async fn connect_any(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match TcpStream::connect(SocketAddr::new(*address, port)).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
