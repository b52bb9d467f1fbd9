//! From a name to addresses that may be called.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

use crate::AddressRules;

/// Lookups that may wait for a name server at once. Each holds a thread; names that never answer must not take
/// all the threads of the process.
const LOOKUPS_AT_ONCE: usize = 64;

/// Turns names into addresses. Whatever it answers is judged afterwards.
pub trait Resolver: Send + Sync + 'static {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the system, as other programs on the machine do.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS_AT_ONCE)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move {
            let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
            let name = name.to_owned();
            let lookup = tokio::task::spawn_blocking(move || {
                // The thread stays busy when nobody waits for it any more, so the permit stays with it.
                let _permit = permit;
                Ok((name.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        }
        .boxed()
    }
}

/// The hook in the client: what it hands out has been judged, and the client dials nothing else for a name.
pub(crate) struct JudgedResolver {
    pub(crate) rules: Arc<AddressRules>,
    pub(crate) resolver: Arc<dyn Resolver>,
}

impl Resolve for JudgedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, resolver) = (Arc::clone(&self.rules), Arc::clone(&self.resolver));
        Box::pin(async move {
            let addresses = resolver.resolve(name.as_str()).await?;
            if addresses.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
            }
            // One refused address refuses the answer: who mixes public and private ones hopes for the private.
            addresses.iter().try_for_each(|address| rules.judge(*address))?;
            // The client puts the URL's port in place of 0.
            let judged = addresses.into_iter().map(|address| SocketAddr::new(address.to_canonical(), 0));
            Ok(Box::new(judged) as Addrs)
        })
    }
}
