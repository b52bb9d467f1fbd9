//! Model requests: the allowed routes of the pinned provider, with its credential.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use guildhall_egress::pinned_client;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response};
use secrecy::{ExposeSecret, SecretString};
use tracing::{debug, warn};
use url::Url;

use super::budget::{Budget, BudgetExceeded};
use super::headers;
use super::metered_body::{MeteredBody, Observer, TokenMeter};
use super::reply::{ProxyBody, Rejection, full_body};
use super::route::{ModelRoute, RoutePurpose, allows_query, find_route};
use super::usage::BodyFormat;
use super::{CredentialHeader, ModelProxyConfig};

/// Every request carries the whole conversation, with images.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// An error is read whole, to take out the credential: some providers repeat it.
const MAX_ERROR_BYTES: usize = 64 * 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Models can think for minutes without output; the backend stops a silent agent earlier.
const READ_TIMEOUT: Duration = Duration::from_secs(600);

const REDACTED: &[u8] = b"[redacted]";

/// The pinned provider.
pub(super) struct ProviderClient {
    client: reqwest::Client,
    base_url: Url,
    credential: Option<ProviderCredential>,
    routes: &'static [ModelRoute],
    budget: Arc<Budget>,
}

struct ProviderCredential {
    secret: SecretString,
    header: HeaderName,
    value: HeaderValue,
}

impl ProviderClient {
    pub(super) fn new(config: &ModelProxyConfig, budget: Arc<Budget>) -> io::Result<Self> {
        let base_url = validate_base_url(config.base_url.clone())?;
        let credential = config.credential.clone().map(|secret| {
            let (header, value) = config.credential_header.encode(&secret)?;
            Ok::<_, io::Error>(ProviderCredential { secret, header, value })
        });
        Ok(Self {
            client: pinned_client(CONNECT_TIMEOUT, READ_TIMEOUT).map_err(io::Error::other)?,
            base_url,
            credential: credential.transpose()?,
            routes: config.routes,
            budget,
        })
    }

    /// Forwards a request of the agent if it is one of the model routes.
    pub(super) async fn forward(&self, request: Request<Incoming>) -> Result<Response<ProxyBody>, Rejection> {
        let (head, body) = request.into_parts();
        let base_path = self.base_url.path().trim_end_matches('/');
        let route = find_route(self.routes, base_path, &head.method, head.uri.path())
            .filter(|_| allows_query(self.routes, head.uri.query()))
            .ok_or(Rejection::RouteNotAllowed)?;
        if body.size_hint().lower() > u64::try_from(MAX_REQUEST_BYTES).unwrap_or(u64::MAX) {
            return Err(Rejection::BodyTooLarge);
        }
        self.budget.take_request().map_err(|BudgetExceeded| Rejection::BudgetExceeded)?;
        let started = Instant::now();
        let result = self.send(route, &head, body).await;
        let status = result.as_ref().ok().map(|response| response.status().as_u16());
        debug!(model.route = route.path, status, elapsed = ?started.elapsed(), "forwarded a model request");
        result
    }

    async fn send(
        &self,
        route: &ModelRoute,
        head: &Parts,
        body: Incoming,
    ) -> Result<Response<ProxyBody>, Rejection> {
        let request_bytes = Arc::new(AtomicU64::new(0));
        let meter = match route.purpose {
            RoutePurpose::Generation => {
                Some(TokenMeter::new(Arc::clone(&self.budget), Arc::clone(&request_bytes)))
            }
            RoutePurpose::Information => None,
        };
        let mut call = self
            .client
            .request(head.method.clone(), self.url(head))
            .headers(headers::provider_request_headers(&head.headers));
        if let Some(credential) = &self.credential {
            call = call.header(&credential.header, &credential.value);
        }
        if !body.is_end_stream() {
            let body = Limited::new(body, MAX_REQUEST_BYTES);
            let body = MeteredBody::new(body, Arc::clone(&self.budget), Observer::Request(request_bytes));
            call = call.body(reqwest::Body::wrap(body));
        }
        match call.send().await {
            Ok(response) => self.receive(response.into(), meter).await,
            Err(error) => Err(rejection(error, meter)),
        }
    }

    /// Returns the URL of a checked path and query.
    fn url(&self, head: &Parts) -> Url {
        let mut url = self.base_url.clone();
        url.set_path(head.uri.path());
        url.set_query(head.uri.query());
        url
    }

    async fn receive(
        &self,
        response: Response<reqwest::Body>,
        meter: Option<TokenMeter>,
    ) -> Result<Response<ProxyBody>, Rejection> {
        let (head, body) = response.into_parts();
        let secret = self.credential.as_ref().map(|credential| credential.secret.expose_secret());
        let headers = headers::agent_response_headers(&head.headers, secret);
        let mut response = if head.status.is_success() {
            let format = body_format(&head.headers);
            let observer =
                meter.map_or(Observer::None, |meter| Observer::Response(meter.with_format(format)));
            let body = MeteredBody::new(body, Arc::clone(&self.budget), observer).boxed_unsync();
            response_with(headers, body)
        } else {
            if let Some(meter) = meter {
                meter.discard();
            }
            self.receive_error(headers, body, secret).await?
        };
        *response.status_mut() = head.status;
        Ok(response)
    }

    /// Reads an error and removes the credential from it.
    async fn receive_error(
        &self,
        mut headers: HeaderMap,
        body: reqwest::Body,
        secret: Option<&str>,
    ) -> Result<Response<ProxyBody>, Rejection> {
        let body = MeteredBody::new(body, Arc::clone(&self.budget), Observer::None);
        match Limited::new(body, MAX_ERROR_BYTES).collect().await {
            Ok(body) => {
                headers.remove(header::CONTENT_LENGTH);
                let body = replace_all(&body.to_bytes(), secret.unwrap_or_default().as_bytes());
                Ok(response_with(headers, full_body(body)))
            }
            Err(_) if self.budget.check().is_err() => Err(Rejection::BudgetExceeded),
            Err(error) if error.is::<LengthLimitError>() => Ok(Rejection::ProviderErrorTooLong.response()),
            Err(_) => Err(Rejection::ProviderUnreachable),
        }
    }
}

/// Prints neither the URL nor the credential.
impl fmt::Debug for ProviderClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("routes", &self.routes).finish_non_exhaustive()
    }
}

impl CredentialHeader {
    /// Returns the header with a credential.
    fn encode(self, secret: &SecretString) -> io::Result<(HeaderName, HeaderValue)> {
        let secret = secret.expose_secret();
        let (name, value) = match self {
            Self::Bearer => (header::AUTHORIZATION, HeaderValue::try_from(format!("Bearer {secret}"))),
            Self::XApiKey => (HeaderName::from_static("x-api-key"), HeaderValue::try_from(secret)),
            Self::XGoogApiKey => (HeaderName::from_static("x-goog-api-key"), HeaderValue::try_from(secret)),
        };
        // The error must not contain the value.
        let mut value = value
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the credential is no header value"))?;
        value.set_sensitive(true);
        Ok((name, value))
    }
}

/// Checks a base URL: other parts than scheme, host, port and path would be sent with every request or ignored.
fn validate_base_url(url: Url) -> io::Result<Url> {
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if is_plain {
        return Ok(url);
    }
    let message = "the base URL must be http:// or https:// with a host and a path, and nothing else";
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

fn response_with(headers: HeaderMap, body: ProxyBody) -> Response<ProxyBody> {
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

/// Converts a failed call. A request that never left is not counted.
fn rejection(error: reqwest::Error, meter: Option<TokenMeter>) -> Rejection {
    if let Some(meter) = meter
        && (error.is_connect() || error.is_builder())
    {
        meter.discard();
    }
    if has_cause::<LengthLimitError>(&error) {
        return Rejection::BodyTooLarge;
    }
    if has_cause::<BudgetExceeded>(&error) {
        return Rejection::BudgetExceeded;
    }
    let error = error.without_url();
    warn!(error = &error as &dyn Error, "cannot reach the model provider");
    Rejection::ProviderUnreachable
}

fn has_cause<E: Error + 'static>(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<E>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn body_format(headers: &HeaderMap) -> BodyFormat {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if text(header::CONTENT_ENCODING).is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return BodyFormat::Other;
    }
    let content_type = text(header::CONTENT_TYPE).unwrap_or_default();
    match content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "text/event-stream" => BodyFormat::Events,
        "application/json" => BodyFormat::Json,
        _ => BodyFormat::Other,
    }
}

/// Replaces every occurrence of a secret.
fn replace_all(bytes: &Bytes, secret: &[u8]) -> Bytes {
    if !headers::contains(bytes, secret) {
        return bytes.clone();
    }
    let mut redacted = Vec::with_capacity(bytes.len());
    let mut rest: &[u8] = bytes;
    while let Some((first, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(secret) {
            redacted.extend_from_slice(REDACTED);
            rest = after;
        } else {
            redacted.push(*first);
            rest = tail;
        }
    }
    redacted.into()
}
