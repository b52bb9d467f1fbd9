//! Name resolution with address checks.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

use crate::AddressRules;

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

/// The resolver hook of the client: returns only checked addresses, and the client connects to no others.
pub(crate) struct CheckedResolver {
    pub(crate) rules: Arc<AddressRules>,
    pub(crate) resolver: Arc<dyn Resolver>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, resolver) = (Arc::clone(&self.rules), Arc::clone(&self.resolver));
        Box::pin(async move {
            let addresses = resolver.resolve(name.as_str()).await?;
            if addresses.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
            }
            // One blocked address blocks the call: a mix of public and private addresses is suspicious.
            addresses.iter().try_for_each(|address| rules.check(*address))?;
            // The client replaces port 0 by the port of the URL.
            let checked = addresses.into_iter().map(|address| SocketAddr::new(address.to_canonical(), 0));
            Ok(Box::new(checked) as Addrs)
        })
    }
}
