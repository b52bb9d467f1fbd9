//! The client: one call, one answer.

use std::sync::Arc;
use std::time::Duration;

use guildhall_protocol::problem::Problem;
use reqwest::{Method, RequestBuilder, Response, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use crate::{ClientError, TokenSource};

const USER_AGENT: &str = concat!("guildhall-sdk/", env!("CARGO_PKG_VERSION"));

/// From the name to a connection that may carry a request, TLS included.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// From the first step to the last byte of an answer: three times what a server takes at most.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The longest silence in a stream: the server sends a sign of life every 15 s.
const SILENT_AT_MOST: Duration = Duration::from_secs(45);

/// The largest answer that is read: 500 audit entries of 64 KiB, twice.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Talks to one server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    tokens: Option<Arc<dyn TokenSource>>,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The address is not repeated: what is wrong with it may be that it holds a password.
    #[error("a server's address looks like https://guildhall.example.com, without a name, password, ? or #")]
    Address,
    #[error("cannot set up the HTTP client")]
    Http(#[source] reqwest::Error),
    #[error("there is no token")]
    NoToken,
}

impl Client {
    /// Makes a client without a token: it can sign in and refresh.
    pub fn new(base_url: &str) -> Result<Self, SetupError> {
        let mut base = Url::parse(base_url).map_err(|_| SetupError::Address)?;
        let plain = base.username().is_empty() && base.password().is_none() && base.query().is_none();
        let web = ["http", "https"].contains(&base.scheme()) && base.has_host();
        if !plain || !web || base.fragment().is_some() {
            return Err(SetupError::Address);
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let http = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_WITHIN)
            .read_timeout(SILENT_AT_MOST)
            // A token is for the server that was named, and for no other that it points to.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(SetupError::Http)?;
        Ok(Self { http, base, tokens: None })
    }

    /// Returns this client with tokens from a source.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<dyn TokenSource>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Returns the server's address, always with a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.base.as_str()
    }

    /// Begins a request to a path below `/api/v1/`. Segments are escaped one by one.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        self.http.request(method, self.address(segments))
    }

    /// Begins a request that reads, with values that say which part.
    pub(crate) fn query<V: ToString>(&self, segments: &[&str], query: &[(&str, V)]) -> RequestBuilder {
        self.request_with(Method::GET, segments, query)
    }

    /// Begins a request to a path below `/api/v1/` with values in its query.
    pub(crate) fn request_with<V: ToString>(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, V)],
    ) -> RequestBuilder {
        let mut url = self.address(segments);
        url.query_pairs_mut().extend_pairs(query.iter().map(|(name, value)| (name, value.to_string())));
        self.http.request(method, url)
    }

    /// Begins a request that reads what stands beside `/api/v1/`.
    pub(crate) fn outside_the_api(&self, segments: &[&str]) -> RequestBuilder {
        self.http.get(self.below_base(segments))
    }

    pub(crate) fn address(&self, segments: &[&str]) -> Url {
        self.below_base(&[&["api", "v1"], segments].concat())
    }

    fn below_base(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    pub(crate) async fn token(&self) -> Result<SecretString, ClientError> {
        match &self.tokens {
            Some(tokens) => tokens.token().await,
            None => Err(ClientError::NoToken(Box::new(SetupError::NoToken))),
        }
    }

    /// Sends a request with a token and reads its answer.
    pub(crate) async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let token = self.token().await?;
        self.call_openly(request.bearer_auth(token.expose_secret())).await
    }

    /// Sends a request with a token. The answer has no body worth reading.
    pub(crate) async fn command(&self, request: RequestBuilder) -> Result<(), ClientError> {
        let token = self.token().await?;
        let request = request.bearer_auth(token.expose_secret()).timeout(ANSWER_WITHIN);
        self.send(request).await.map(drop)
    }

    /// Sends a request as it is and reads its answer.
    pub(crate) async fn call_openly<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        self.call_with(request, &[]).await
    }

    /// Sends a request as it is and reads its answer, which may also have one of these statuses.
    pub(crate) async fn call_with<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        accepted: &[StatusCode],
    ) -> Result<T, ClientError> {
        let response = self.send_with(request.timeout(ANSWER_WITHIN), accepted).await?;
        let body = self.body(response).await?;
        serde_json::from_slice(&body).map_err(|error| self.not_understood(&error))
    }

    /// Sends a request; an answer that is a failure becomes one.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        self.send_with(request, &[]).await
    }

    async fn send_with(
        &self,
        request: RequestBuilder,
        accepted: &[StatusCode],
    ) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|source| self.unreachable(source))?;
        if response.status().is_success() || accepted.contains(&response.status()) {
            return Ok(response);
        }
        let status = response.status();
        let body = self.body(response).await?;
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(ClientError::Failed(Box::new(problem))),
            Err(_) => Err(ClientError::BadAnswer {
                url: self.base.to_string(),
                fault: format!("status {status} without a problem body"),
                status: Some(status.as_u16()),
            }),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|source| self.unreachable(source))? {
            body.extend_from_slice(&piece);
            if body.len() > ANSWER_BYTES {
                return Err(self.bad_answer(format!("it is larger than {ANSWER_BYTES} bytes")));
            }
        }
        Ok(body)
    }

    pub(crate) fn unreachable(&self, source: reqwest::Error) -> ClientError {
        ClientError::Unreachable { url: self.base.to_string(), source: source.without_url() }
    }

    /// Says where an answer is not understood, and not what stands there: it may be a token.
    pub(crate) fn not_understood(&self, error: &serde_json::Error) -> ClientError {
        let kind = if error.is_data() { "not of the expected form" } else { "not JSON" };
        self.bad_answer(format!("{kind} at line {}, column {}", error.line(), error.column()))
    }

    pub(crate) fn bad_answer(&self, fault: impl Into<String>) -> ClientError {
        ClientError::BadAnswer { url: self.base.to_string(), fault: fault.into(), status: None }
    }
}

/// Adds an idempotency key, with which the same request may be sent again without doing its work twice.
pub(crate) fn keyed(request: RequestBuilder, idempotency_key: Option<&str>) -> RequestBuilder {
    match idempotency_key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> Result<Client, SetupError> {
        let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Client::new(url)
    }

    #[test]
    fn an_address_with_a_password_is_refused_and_not_repeated() {
        let refused = [
            "https://me:hunter2@example.com",
            "https://me@example.com",
            "ftp://example.com",
            "example.com:hunter2",
            "https://example.com/?token=hunter2",
            "https://example.com/#hunter2",
        ];
        for address in refused {
            let error = client(address).expect_err(address);
            assert!(
                matches!(error, SetupError::Address) && !format!("{error:?} {error}").contains("hunter2")
            );
        }
    }

    #[test]
    fn paths_stand_below_the_base_and_segments_are_escaped() {
        for base in ["http://example.com/guild", "http://example.com/guild/"] {
            let request = client(base).expect("fine").request(Method::GET, &["tenants", "a/../b"]).build();
            let url = request.expect("fine").url().to_string();
            assert_eq!(url, "http://example.com/guild/api/v1/tenants/a%2F..%2Fb");
        }
    }
}
