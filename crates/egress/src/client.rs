//! The client: one call, one answer.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use metrics::counter;
use reqwest::redirect;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::timeout;
use tracing::debug;

use crate::resolve::JudgedResolver;
use crate::response::ReadError;
use crate::{AddressRules, EgressError, Refusal, Request, RequestFault, Resolver, Response, SystemResolver};

const USER_AGENT: &str = concat!("guildhall/", env!("CARGO_PKG_VERSION"));

/// Idle connections kept for one host, and for how long: enough for a burst of webhooks, soon given back.
const IDLE_PER_HOST: usize = 4;
const IDLE_FOR: Duration = Duration::from_secs(30);

/// The bounds of every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressOptions {
    /// From the name to a connection that may carry a request, TLS included.
    pub connect_timeout: Duration,
    /// From the first step to the last byte of the answer.
    pub request_timeout: Duration,
    pub max_response_bytes: usize,
    /// For development alone: lets calls go to this machine itself.
    pub allow_loopback: bool,
    /// Ranges beyond the public internet that an operator opened.
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

/// The way out. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Egress {
    client: reqwest::Client,
    rules: Arc<AddressRules>,
    connect_timeout: Duration,
    request_timeout: Duration,
    max_response_bytes: usize,
}

impl Egress {
    /// Prepares the way out, with the system's resolver and root certificates.
    pub fn new(options: &EgressOptions) -> Result<Self, EgressError> {
        Self::with_resolver(options, Arc::new(SystemResolver::default()))
    }

    /// Prepares the way out with another resolver, for tests. Its answers are judged like the system's.
    pub fn with_resolver(options: &EgressOptions, resolver: Arc<dyn Resolver>) -> Result<Self, EgressError> {
        let rules =
            Arc::new(AddressRules { allow_loopback: options.allow_loopback, allow: options.allow.clone() });
        let resolver = JudgedResolver { rules: Arc::clone(&rules), resolver };
        Ok(Self {
            client: client(options, resolver)?,
            rules,
            connect_timeout: options.connect_timeout,
            request_timeout: options.request_timeout,
            max_response_bytes: options.max_response_bytes,
        })
    }

    /// Says what can be said of a call without making it: whether its URL names an address that is refused. A name
    /// passes; it is judged when it is called.
    pub fn check(&self, request: &Request) -> Result<(), EgressError> {
        match request.literal().map(|address| self.rules.judge(address)) {
            Some(Err(reason)) => Err(EgressError::Refused { host: request.host().to_owned(), reason }),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Makes a call. An answer of any status is a success; whether to call again is the caller's decision.
    pub async fn send(&self, request: Request) -> Result<Response, EgressError> {
        let (started, host) = (Instant::now(), request.host().to_owned());
        let result = self.call(request).await;
        let outcome = result.as_ref().map_or_else(EgressError::outcome, |_| "answered");
        counter!("guildhall_egress_requests_total", "outcome" => outcome).increment(1);
        debug!(egress.host = host, egress.outcome = outcome, elapsed = ?started.elapsed(), "called {host}");
        result
    }

    async fn call(&self, request: Request) -> Result<Response, EgressError> {
        self.check(&request)?;
        let limit = request.timeout.map_or(self.request_timeout, |asked| asked.min(self.request_timeout));
        let host = request.host().to_owned();
        match timeout(limit, self.exchange(request, &host)).await {
            Ok(result) => result,
            Err(_) => Err(EgressError::TimedOut { host, limit }),
        }
    }

    async fn exchange(&self, request: Request, host: &str) -> Result<Response, EgressError> {
        let mut call = self.client.request(request.method, request.url).headers(request.headers);
        if let Some(body) = request.body {
            call = call.body(body);
        }
        let answer = call.send().await.map_err(|error| self.failure(error, host))?;
        Response::read(answer, self.max_response_bytes).await.map_err(|error| match error {
            ReadError::TooLarge => {
                EgressError::TooLarge { host: host.to_owned(), limit: self.max_response_bytes }
            }
            ReadError::Broken(error) => self.failure(error, host),
        })
    }

    fn failure(&self, error: reqwest::Error, host: &str) -> EgressError {
        let host = host.to_owned();
        if let Some(reason) = refusal_in(&error) {
            return EgressError::Refused { host, reason };
        }
        if error.is_builder() {
            return RequestFault::Url.into();
        }
        if error.is_timeout() {
            return EgressError::TimedOut { host, limit: self.connect_timeout };
        }
        EgressError::Unreachable { host, source: error.without_url().into() }
    }
}

/// Everything here that says "no" is named, also where it is the default: another crate of the same build may turn
/// on a feature of reqwest, and with it another default.
fn client(options: &EgressOptions, resolver: JudgedResolver) -> Result<reqwest::Client, EgressError> {
    reqwest::Client::builder()
        .dns_resolver(resolver)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .referer(false)
        .user_agent(USER_AGENT)
        .connect_timeout(options.connect_timeout)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .pool_idle_timeout(IDLE_FOR)
        .tls_backend_preconfigured(tls().map_err(|error| EgressError::Setup(error.into()))?)
        .build()
        .map_err(|error| EgressError::Setup(error.into()))
}

fn tls() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Finds the verdict of [`JudgedResolver`] among the causes of a failed call.
fn refusal_in(error: &reqwest::Error) -> Option<Refusal> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return Some(*refusal);
        }
        cause = error.source();
    }
    None
}
