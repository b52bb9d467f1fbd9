//! What the HTTP edge needs, from the configuration.

use guildhall_api::{AccessRules, Limits, SocketLimits, Sockets, StreamLimits, Streams};
use guildhall_domain::ops::client_address::TrustedProxies;
use guildhall_runtime::Tasks;
use guildhall_service::Deps;
use guildhall_service::access::authority::AuthorityWatches;
use guildhall_service::identity::issuer::Issuer;
use guildhall_service::ops::rates::{RatePolicy, Rates};
use guildhall_store::Store;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::gateway::Addresses;
use crate::public_url::PublicUrl;
use crate::{Config, config};

/// The listen addresses and the public host are always allowed as host names.
pub(crate) fn access_rules(
    config: &Config,
    public: &PublicUrl,
    addresses: Addresses,
    issuer: Option<&Issuer>,
) -> AccessRules {
    let listening = std::iter::once(addresses.plain.ip()).chain(addresses.tls.map(|tls| tls.ip()));
    let listening = listening.filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string());
    AccessRules {
        require_auth: config.access.require_auth,
        hosts: config.access.allow_hosts.iter().cloned().chain(listening).chain(public.host()).collect(),
        origins: config.access.allow_origins.clone(),
        public_origin: Some(public.origin()),
        issuer: issuer.map(|issuer| issuer.authority.name().clone()),
    }
}

pub(crate) fn limits(config: &Config) -> Limits {
    let http = &config.http;
    Limits {
        attachment_bytes: config.attachments.max_bytes.get(),
        attachment_timeout: config.attachments.upload_timeout,
        body_bytes: http.max_body_bytes.get(),
        request_timeout: http.request_timeout,
        concurrent_requests: http.max_concurrent_requests.get(),
        connections: http.max_connections.get(),
        header_timeout: http.header_timeout,
    }
}

/// Every stream uses a connection, or a part of one, so the total of streams is limited by `http.max_connections`.
pub(crate) fn authority_watches(config: &Config, deps: &Deps, tasks: &Tasks) -> AuthorityWatches {
    let (store, clock) = (deps.store.clone(), deps.clock.clone());
    AuthorityWatches::start(store, clock, tasks, config.http.stream_check_timeout)
}

pub(crate) fn sockets(
    config: &Config,
    tasks: &Tasks,
    watches: AuthorityWatches,
    accepting: &CancellationToken,
) -> Sockets {
    let sockets = &config.sockets;
    let limits = SocketLimits {
        total: sockets.max_connections.get(),
        unauthenticated: sockets.max_unauthenticated.get(),
        per_address: sockets.max_per_address.get(),
        unauthenticated_per_address: sockets.max_unauthenticated_per_address.get(),
        per_client: sockets.max_per_client.get(),
        concurrent_calls: config.http.max_concurrent_requests.get(),
        auth_timeout: sockets.auth_timeout,
        ping_after: sockets.ping_after,
        idle_timeout: sockets.idle_timeout,
        write_timeout: sockets.write_timeout,
    };
    Sockets::new(tasks.clone(), watches, limits, accepting.clone())
}

pub(crate) fn streams(
    config: &Config,
    tasks: &Tasks,
    watches: AuthorityWatches,
    accepting: &CancellationToken,
) -> Streams {
    let limits = StreamLimits {
        per_principal: config.http.max_streams_each.get(),
        total: config.http.max_connections.get(),
    };
    Streams::new(tasks.clone(), watches, limits, accepting.clone())
}

pub(crate) fn rates(limits: &config::Limits, store: &Store) -> Rates {
    let policy = RatePolicy {
        sign_in: limits.sign_in,
        account: limits.account,
        mutation: limits.mutation,
        read: limits.read,
        prompt: limits.prompt,
        tenant_events: limits.tenant_events,
    };
    Rates::new(store.clone(), policy)
}

/// Without TLS, a public https URL means that a proxy is in front of the server.
pub(crate) fn trusted_proxies(http: &config::Http) -> TrustedProxies {
    if http.tls_listen.is_none() && http.public_url.starts_with("https://") && http.trusted_proxies.is_empty()
    {
        warn!("all clients share the address of the proxy for limits.sign_in: set http.trusted_proxies");
    }
    TrustedProxies::new(http.trusted_proxies.clone())
}
