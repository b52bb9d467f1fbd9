//! Name resolution with address checks.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

use crate::{AddressRules, BlockedAddress};

/// Maximum concurrent lookups. Each blocks a thread; unresponsive name servers must not block all threads of the
/// process.
const MAX_CONCURRENT_LOOKUPS: usize = 64;

/// Resolves names. The addresses are checked afterwards.
pub trait Resolver: Send + Sync + 'static {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_CONCURRENT_LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move {
            let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
            let name = name.to_owned();
            let lookup = tokio::task::spawn_blocking(move || {
                // The thread stays busy even if the caller is gone, so it keeps the permit.
                let _permit = permit;
                Ok((name.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        }
        .boxed()
    }
}

/// Why a name has no checked addresses.
#[derive(Debug)]
pub(crate) enum ResolveError {
    Blocked(BlockedAddress),
    Lookup(io::Error),
}

/// Resolves a name once and checks every address.
pub(crate) async fn resolve_checked(
    rules: &AddressRules,
    resolver: &dyn Resolver,
    name: &str,
) -> Result<Vec<IpAddr>, ResolveError> {
    let addresses = resolver.resolve(name).await.map_err(ResolveError::Lookup)?;
    if addresses.is_empty() {
        let error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        return Err(ResolveError::Lookup(error));
    }
    // One blocked address blocks the call: a mix of public and private addresses is suspicious.
    addresses.iter().try_for_each(|address| rules.check(*address)).map_err(ResolveError::Blocked)?;
    Ok(addresses.into_iter().map(|address| address.to_canonical()).collect())
}

/// The resolver hook of the client: returns only checked addresses, and the client connects to no others.
pub(crate) struct CheckedResolver {
    pub(crate) rules: Arc<AddressRules>,
    pub(crate) resolver: Arc<dyn Resolver>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, resolver) = (Arc::clone(&self.rules), Arc::clone(&self.resolver));
        Box::pin(async move {
            match resolve_checked(&rules, &*resolver, name.as_str()).await {
                // The client replaces port 0 by the port of the URL.
                Ok(addresses) => {
                    let checked = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
                    Ok(Box::new(checked) as Addrs)
                }
                Err(ResolveError::Blocked(reason)) => Err(reason.into()),
                Err(ResolveError::Lookup(error)) => Err(error.into()),
            }
        })
    }
}
