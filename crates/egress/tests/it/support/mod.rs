//! A server that counts connections, and a scripted resolver.

mod resolver;
mod server;

pub(crate) use resolver::ScriptedResolver;
pub(crate) use server::{ScriptedResponse, Server};

use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::{Egress, EgressOptions, Resolver};

/// Production options with shorter timeouts.
pub(crate) fn options() -> EgressOptions {
    EgressOptions {
        connect_timeout: Duration::from_secs(30),
        request_timeout: Duration::from_secs(60),
        ..EgressOptions::default()
    }
}

/// The options of `guildhall dev`: loopback is allowed.
pub(crate) fn dev_options() -> EgressOptions {
    EgressOptions { allow_loopback: true, ..options() }
}

pub(crate) fn egress(options: &EgressOptions) -> Egress {
    Egress::new(options).expect("this machine has root certificates")
}

pub(crate) fn egress_with(options: &EgressOptions, resolver: &Arc<impl Resolver>) -> Egress {
    let resolver = Arc::clone(resolver);
    Egress::with_resolver(options, resolver).expect("this machine has root certificates")
}
