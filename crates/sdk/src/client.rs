//! The HTTP client.

use std::sync::Arc;
use std::time::Duration;

use guildhall_protocol::problem::Problem;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Certificate, Method, RequestBuilder, Response, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};
use url::Url;

use crate::{ClientError, TokenSource};

const USER_AGENT: &str = concat!("guildhall-sdk/", env!("CARGO_PKG_VERSION"));

/// Covers DNS, TCP and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Covers the whole request: three times the server's own limit.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum silence in a stream: the server sends a keep-alive every 15 s.
const READ_TIMEOUT: Duration = Duration::from_secs(45);

/// Maximum size of a response: twice 500 audit entries of 64 KiB.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// A client of one server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    tokens: Option<Arc<dyn TokenSource>>,
}

/// The versions of HTTP that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HttpVersions {
    All,
    Http1,
}

/// The client could not be created.
#[derive(Debug, thiserror::Error)]
pub enum ClientSetupError {
    /// The URL is not included in the message because it may contain a password.
    #[error(
        "invalid server URL: expected a form like https://guildhall.example.com, without user name, password, ? or #"
    )]
    InvalidUrl,
    #[error(
        "cannot set up the HTTP client; if this machine has no root certificates, install the package \
         ca-certificates or name a bundle in SSL_CERT_FILE"
    )]
    Http(#[source] reqwest::Error),
    #[error("cannot read the root certificates: expected certificates in PEM")]
    Roots(#[source] reqwest::Error),
    #[error("the client has no token")]
    NoToken,
}

impl Client {
    /// Creates a client without a token source: it can sign in and refresh.
    pub fn new(base_url: &str) -> Result<Self, ClientSetupError> {
        Self::with_root_certificates(base_url, &[])
    }

    /// Creates a client, as [`Client::new`] does, that also trusts root certificates in PEM.
    pub fn with_root_certificates(base_url: &str, roots_pem: &[u8]) -> Result<Self, ClientSetupError> {
        Self::build(base_url, roots_pem, HttpVersions::All)
    }

    /// Creates a client whose connections can become WebSockets.
    pub(crate) fn for_upgrades(base_url: &str, roots_pem: &[u8]) -> Result<Self, ClientSetupError> {
        Self::build(base_url, roots_pem, HttpVersions::Http1)
    }

    fn build(base_url: &str, roots_pem: &[u8], versions: HttpVersions) -> Result<Self, ClientSetupError> {
        let mut base = Url::parse(base_url).map_err(|_| ClientSetupError::InvalidUrl)?;
        let no_credentials =
            base.username().is_empty() && base.password().is_none() && base.query().is_none();
        let is_http = ["http", "https"].contains(&base.scheme()) && base.has_host();
        if !no_credentials || !is_http || base.fragment().is_some() {
            return Err(ClientSetupError::InvalidUrl);
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let mut http = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            // A token must only be sent to the configured server, never to a redirect target.
            .redirect(redirect::Policy::none())
            .no_proxy();
        if versions == HttpVersions::Http1 {
            http = http.http1_only();
        }
        if base.scheme() == "http" {
            // Nothing to verify: works on a machine without root certificates.
            http = http.tls_certs_only([]);
        } else if !roots_pem.is_empty() {
            let roots = Certificate::from_pem_bundle(roots_pem).map_err(ClientSetupError::Roots)?;
            http = http.tls_certs_merge(roots);
        }
        let http = http.build().map_err(ClientSetupError::Http)?;
        Ok(Self { http, base, tokens: None })
    }

    /// Sets the token source.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<dyn TokenSource>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Returns the base URL of the server, with a trailing slash.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.base.as_str()
    }

    /// Starts a request to a path below `/api/v1/`. Segments are escaped one by one.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        self.http.request(method, self.api_url(segments))
    }

    /// Starts a GET request with query parameters.
    pub(crate) fn query<V: ToString>(&self, segments: &[&str], query: &[(&str, V)]) -> RequestBuilder {
        self.request_with(Method::GET, segments, query)
    }

    /// Starts a request with query parameters.
    pub(crate) fn request_with<V: ToString>(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, V)],
    ) -> RequestBuilder {
        let mut url = self.api_url(segments);
        url.query_pairs_mut().extend_pairs(query.iter().map(|(name, value)| (name, value.to_string())));
        self.http.request(method, url)
    }

    /// Starts a GET request to a URL of the same server.
    pub(crate) fn get(&self, url: Url) -> RequestBuilder {
        self.http.get(url)
    }

    /// Starts a GET request to a path outside `/api/v1/`.
    pub(crate) fn root_request(&self, segments: &[&str]) -> RequestBuilder {
        self.http.get(self.url_below_base(segments))
    }

    /// Starts a GET request with query parameters to a path outside `/api/v1/`.
    pub(crate) fn root_query<V: ToString>(&self, segments: &[&str], query: &[(&str, V)]) -> RequestBuilder {
        let mut url = self.url_below_base(segments);
        url.query_pairs_mut().extend_pairs(query.iter().map(|(name, value)| (name, value.to_string())));
        self.http.get(url)
    }

    pub(crate) fn api_url(&self, segments: &[&str]) -> Url {
        self.url_below_base(&[&["api", "v1"], segments].concat())
    }

    fn url_below_base(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    pub(crate) async fn token(&self) -> Result<SecretString, ClientError> {
        match &self.tokens {
            Some(tokens) => tokens.token().await,
            None => Err(ClientError::NoToken(Box::new(ClientSetupError::NoToken))),
        }
    }

    /// Sends a request with a token and parses the response.
    pub(crate) async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let token = self.token().await?;
        self.call_without_token(request.bearer_auth(token.expose_secret())).await
    }

    /// Sends a request with a token. Returns the type of the response and its bytes.
    pub(crate) async fn read_bytes(
        &self,
        request: RequestBuilder,
        max_bytes: usize,
    ) -> Result<(String, Vec<u8>), ClientError> {
        let token = self.token().await?;
        let request = request.bearer_auth(token.expose_secret()).timeout(RESPONSE_TIMEOUT);
        let response = self.send(request).await?;
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        Ok((content_type, self.body(response, max_bytes).await?))
    }

    /// Sends a request with a token. The response must be JSON; its content only confirms the change.
    pub(crate) async fn command(&self, request: RequestBuilder) -> Result<(), ClientError> {
        self.call::<IgnoredAny>(request).await.map(drop)
    }

    /// Sends a request without a token and parses the response.
    pub(crate) async fn call_without_token<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        self.call_with(request, &[]).await
    }

    /// Sends a request without a token and parses the response, which may also have one of these statuses.
    pub(crate) async fn call_with<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        accepted: &[StatusCode],
    ) -> Result<T, ClientError> {
        let response = self.send_with(request.timeout(RESPONSE_TIMEOUT), accepted).await?;
        let body = self.body(response, MAX_RESPONSE_BYTES).await?;
        serde_json::from_slice(&body).map_err(|error| self.parse_error(&error))
    }

    /// Sends a request. An error status becomes a [`ClientError`].
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        self.send_with(request, &[]).await
    }

    /// Sends a request. An error status that is not one of these becomes a [`ClientError`].
    pub(crate) async fn send_with(
        &self,
        request: RequestBuilder,
        accepted: &[StatusCode],
    ) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|source| self.unreachable(source))?;
        if response.status().is_success() || accepted.contains(&response.status()) {
            return Ok(response);
        }
        let status = response.status();
        let body = self.body(response, MAX_RESPONSE_BYTES).await?;
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(ClientError::Failed(Box::new(problem))),
            Err(_) => Err(ClientError::InvalidResponse {
                url: self.base.to_string(),
                reason: format!("status {status} without a problem body"),
                status: Some(status.as_u16()),
            }),
        }
    }

    /// Sends a request without a token and returns the text of the response.
    pub(crate) async fn text_without_token(
        &self,
        request: RequestBuilder,
        max_bytes: usize,
    ) -> Result<String, ClientError> {
        let response = self.send(request.timeout(RESPONSE_TIMEOUT)).await?;
        let body = self.body(response, max_bytes).await?;
        String::from_utf8(body).map_err(|_| self.invalid_response("not a text"))
    }

    async fn body(&self, mut response: Response, max_bytes: usize) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|source| self.unreachable(source))? {
            body.extend_from_slice(&chunk);
            if body.len() > max_bytes {
                return Err(self.invalid_response(format!("larger than {max_bytes} bytes")));
            }
        }
        Ok(body)
    }

    pub(crate) fn unreachable(&self, source: reqwest::Error) -> ClientError {
        ClientError::Unreachable { url: self.base.to_string(), source: source.without_url() }
    }

    /// Reports the position of a parse error, but not the text there: it may be a token.
    pub(crate) fn parse_error(&self, error: &serde_json::Error) -> ClientError {
        let kind = if error.is_data() { "unexpected JSON" } else { "not JSON" };
        self.invalid_response(format!("{kind} at line {}, column {}", error.line(), error.column()))
    }

    pub(crate) fn invalid_response(&self, reason: impl Into<String>) -> ClientError {
        ClientError::InvalidResponse { url: self.base.to_string(), reason: reason.into(), status: None }
    }
}

/// Adds an idempotency key, which makes a retry of the same request safe.
pub(crate) fn with_idempotency_key(request: RequestBuilder, idempotency_key: Option<&str>) -> RequestBuilder {
    match idempotency_key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> Result<Client, ClientSetupError> {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Client::new(url)
    }

    #[test]
    fn url_with_credentials_is_rejected_and_not_printed() {
        let invalid = [
            "https://me:hunter2@example.com",
            "https://me@example.com",
            "ftp://example.com",
            "example.com:hunter2",
            "https://example.com/?token=hunter2",
            "https://example.com/#hunter2",
        ];
        for url in invalid {
            let error = client(url).expect_err(url);
            assert!(
                matches!(error, ClientSetupError::InvalidUrl)
                    && !format!("{error:?} {error}").contains("hunter2")
            );
        }
    }

    #[test]
    fn request_url_is_below_base_with_escaped_segments() {
        for base in ["http://example.com/guild", "http://example.com/guild/"] {
            let request = client(base).expect("fine").request(Method::GET, &["tenants", "a/../b"]).build();
            let url = request.expect("fine").url().to_string();
            assert_eq!(url, "http://example.com/guild/api/v1/tenants/a%2F..%2Fb");
        }
    }
}
