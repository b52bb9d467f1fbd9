use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_egress::Resolver;

/// An attacker's name server: a new response for every query; the last one is repeated.
pub(crate) struct ScriptedResolver {
    responses: Vec<Vec<IpAddr>>,
    queries: AtomicUsize,
}

impl ScriptedResolver {
    /// Each text is one response: addresses separated by spaces, or empty.
    pub(crate) fn new(responses: &[&str]) -> std::sync::Arc<Self> {
        let parse = |response: &&str| {
            response.split_whitespace().map(|address| address.parse().expect("an address")).collect()
        };
        let responses: Vec<_> = responses.iter().map(parse).collect();
        std::sync::Arc::new(Self { responses, queries: AtomicUsize::new(0) })
    }

    pub(crate) fn queries(&self) -> usize {
        self.queries.load(Ordering::SeqCst)
    }
}

impl Resolver for ScriptedResolver {
    fn resolve<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let index = self.queries.fetch_add(1, Ordering::SeqCst).min(self.responses.len() - 1);
        std::future::ready(Ok(self.responses[index].clone())).boxed()
    }
}
