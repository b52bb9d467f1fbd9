//! A server that counts who comes, and a resolver that answers as it is told.

mod names;
mod server;

pub(crate) use names::Script;
pub(crate) use server::{Answer, Server};

use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::{Egress, EgressOptions, Resolver};

/// What a server has in production, with less patience.
pub(crate) fn options() -> EgressOptions {
    EgressOptions {
        connect_timeout: Duration::from_secs(2),
        request_timeout: Duration::from_secs(10),
        ..EgressOptions::default()
    }
}

/// What `guildhall dev` has: this machine may be called.
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
