//! The HTTP client.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use metrics::counter;
use reqwest::{header, redirect};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::timeout;
use tracing::debug;

use crate::resolve::CheckedResolver;
use crate::response::ReadError;
use crate::{
    AddressRules, BlockedAddress, EgressError, Request, RequestError, Resolver, Response, ResponseHead,
    SystemResolver,
};

const USER_AGENT: &str = concat!("guildhall/", env!("CARGO_PKG_VERSION"));

/// Idle connections per host and their lifetime: enough for a burst of webhooks, released soon.
const MAX_IDLE_PER_HOST: usize = 4;
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits and rules for all calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressOptions {
    /// Covers DNS, TCP and TLS.
    pub connect_timeout: Duration,
    /// Covers the whole call up to the last byte of the response.
    pub request_timeout: Duration,
    pub max_response_bytes: usize,
    /// For development only: allows calls to this machine.
    pub allow_loopback: bool,
    /// Non-public ranges that an operator allowed.
    pub allow: Vec<IpNet>,
}

impl Default for EgressOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(30),
            max_response_bytes: 1024 * 1024,
            allow_loopback: false,
            allow: Vec::new(),
        }
    }
}

/// The outbound HTTP client. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Egress {
    client: reqwest::Client,
    rules: Arc<AddressRules>,
    connect_timeout: Duration,
    request_timeout: Duration,
    max_response_bytes: usize,
}

impl Egress {
    /// Creates a client with the system's resolver and root certificates.
    pub fn new(options: &EgressOptions) -> Result<Self, EgressError> {
        Self::with_resolver(options, Arc::new(SystemResolver::default()))
    }

    /// Creates a client with another resolver, for tests. Its addresses are checked in the same way.
    pub fn with_resolver(options: &EgressOptions, resolver: Arc<dyn Resolver>) -> Result<Self, EgressError> {
        let rules =
            Arc::new(AddressRules { allow_loopback: options.allow_loopback, allow: options.allow.clone() });
        let resolver = CheckedResolver { rules: Arc::clone(&rules), resolver };
        let client = client_builder()?.dns_resolver(resolver).connect_timeout(options.connect_timeout);
        Ok(Self {
            client: client.build().map_err(|error| EgressError::Setup(error.into()))?,
            rules,
            connect_timeout: options.connect_timeout,
            request_timeout: options.request_timeout,
            max_response_bytes: options.max_response_bytes,
        })
    }

    /// Checks a request without sending it: fails if its URL contains a blocked address. A name passes; it is checked
    /// when it is called.
    pub fn check(&self, request: &Request) -> Result<(), EgressError> {
        match request.address_literal().map(|address| self.rules.check(address)) {
            Some(Err(reason)) => Err(EgressError::Blocked { host: request.host().to_owned(), reason }),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Sends a request. A response of any status is a success; retrying is up to the caller.
    pub async fn send(&self, request: Request) -> Result<Response, EgressError> {
        self.observe(request, async |response, host| {
            Response::read(response, self.max_response_bytes).await.map_err(|error| match error {
                ReadError::TooLarge => {
                    EgressError::TooLarge { host: host.to_owned(), limit: self.max_response_bytes }
                }
                ReadError::Broken(error) => self.convert_error(error, host),
            })
        })
        .await
    }

    /// Sends a request and returns the head of the response. Its body is not read, however long it is.
    pub async fn send_for_head(&self, request: Request) -> Result<ResponseHead, EgressError> {
        let head = async |response: reqwest::Response, _host: &str| {
            let retry_after = response.headers().get(header::RETRY_AFTER);
            let retry_after = retry_after.and_then(|value| value.to_str().ok()).map(str::to_owned);
            Ok(ResponseHead { status: response.status(), retry_after })
        };
        self.observe(request, head).await
    }

    /// Calls, counts and logs.
    async fn observe<T>(
        &self,
        request: Request,
        read: impl AsyncFnOnce(reqwest::Response, &str) -> Result<T, EgressError>,
    ) -> Result<T, EgressError> {
        let (started, host) = (Instant::now(), request.host().to_owned());
        let result = self.call(request, &host, read).await;
        let outcome = result.as_ref().map_or_else(EgressError::outcome, |_| "answered");
        counter!("guildhall_egress_requests_total", "outcome" => outcome).increment(1);
        debug!(egress.host = host, egress.outcome = outcome, elapsed = ?started.elapsed(), "called {host}");
        result
    }

    async fn call<T>(
        &self,
        request: Request,
        host: &str,
        read: impl AsyncFnOnce(reqwest::Response, &str) -> Result<T, EgressError>,
    ) -> Result<T, EgressError> {
        self.check(&request)?;
        let limit =
            request.timeout.map_or(self.request_timeout, |requested| requested.min(self.request_timeout));
        let exchange = async {
            let response = self.exchange(request).await.map_err(|error| self.convert_error(error, host))?;
            read(response, host).await
        };
        match timeout(limit, exchange).await {
            Ok(result) => result,
            Err(_) => Err(EgressError::TimedOut { host: host.to_owned(), limit }),
        }
    }

    async fn exchange(&self, request: Request) -> Result<reqwest::Response, reqwest::Error> {
        let mut call = self.client.request(request.method, request.url).headers(request.headers);
        if let Some(body) = request.body {
            call = call.body(body);
        }
        call.send().await
    }

    fn convert_error(&self, error: reqwest::Error, host: &str) -> EgressError {
        let host = host.to_owned();
        if let Some(reason) = blocked_address(&error) {
            return EgressError::Blocked { host, reason };
        }
        if error.is_builder() {
            return RequestError::Url.into();
        }
        if error.is_timeout() {
            return EgressError::TimedOut { host, limit: self.connect_timeout };
        }
        EgressError::Unreachable { host, source: error.without_url().into() }
    }
}

/// Sets every restriction explicitly, even where it is the default: another crate of the build may enable a feature of
/// reqwest that changes the default.
pub(crate) fn client_builder() -> Result<reqwest::ClientBuilder, EgressError> {
    Ok(reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .referer(false)
        .user_agent(USER_AGENT)
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .tls_backend_preconfigured(tls().map_err(|error| EgressError::Setup(error.into()))?))
}

fn tls() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns why the address of a host was blocked, if a call failed for that reason.
#[must_use]
pub fn blocked_address(error: &reqwest::Error) -> Option<BlockedAddress> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(blocked) = error.downcast_ref::<BlockedAddress>() {
            return Some(*blocked);
        }
        cause = error.source();
    }
    None
}
