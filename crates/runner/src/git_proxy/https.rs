//! Serves git in the sandbox over HTTP: the two requests of a fetch, and nothing else.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::{Connector, blocked_address};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tracing::{debug, warn};
use url::{Host, Url};

use super::MAX_REQUEST_BYTES;
use super::credential::GitCredential;
use super::failure::{FetchFailure, LastFailure};
use super::listener::ProxyStream;

/// A server may compress a large repository for minutes before its first byte.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(60);

const REQUEST_HEADERS: [HeaderName; 6] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONTENT_ENCODING,
    header::CONTENT_TYPE,
    header::USER_AGENT,
    HeaderName::from_static("git-protocol"),
];

const RESPONSE_HEADERS: [HeaderName; 3] =
    [header::CONTENT_ENCODING, header::CONTENT_TYPE, header::CACHE_CONTROL];

type ProxyBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// A request of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FetchRequest {
    /// Lists the branches and tags.
    Refs,
    /// Sends the missing objects.
    UploadPack,
}

impl FetchRequest {
    /// Parses the path below the key. Compared byte by byte and never decoded.
    fn parse(method: &Method, path: &str, query: Option<&str>) -> Option<Self> {
        match (method, path, query) {
            (&Method::GET, "info/refs", Some("service=git-upload-pack")) => Some(Self::Refs),
            (&Method::POST, "git-upload-pack", None) => Some(Self::UploadPack),
            _ => None,
        }
    }

    fn url(self, repository: &Url) -> Url {
        let (path, query) = match self {
            Self::Refs => ("info/refs", Some("service=git-upload-pack")),
            Self::UploadPack => ("git-upload-pack", None),
        };
        let mut url = repository.clone();
        url.set_path(&format!("{}/{path}", repository.path().trim_end_matches('/')));
        url.set_query(query);
        url
    }
}

/// The options of an [`HttpsServer`].
#[derive(Debug)]
pub(super) struct HttpsOptions {
    /// `https`, with a host and a path and nothing else.
    pub(super) url: Url,
    pub(super) credential: Option<GitCredential>,
    pub(super) connector: Connector,
    pub(super) max_bytes: usize,
    pub(super) key: String,
    pub(super) failure: Arc<LastFailure>,
}

/// Forwards the requests of a fetch to one repository.
#[derive(Debug)]
pub(super) struct HttpsServer {
    client: reqwest::Client,
    url: Url,
    credential: Option<GitCredential>,
    max_bytes: usize,
    /// The first segment of every path.
    key: String,
    failure: Arc<LastFailure>,
}

impl HttpsServer {
    /// Checks the URL against the address rules.
    pub(super) fn new(access: HttpsOptions) -> Result<Self, FetchFailure> {
        let HttpsOptions { url, credential, connector, max_bytes, key, failure } = access;
        let host: Option<Host<String>> = url.host().map(|host| host.to_owned());
        let host = host.filter(|_| url.scheme() == "https").ok_or(FetchFailure::Blocked)?;
        let client = connector.streaming_client(&host, READ_TIMEOUT).map_err(|_| FetchFailure::Blocked)?;
        Ok(Self { client, url, credential, max_bytes, key, failure })
    }

    pub(super) async fn serve(self: Arc<Self>, stream: ProxyStream) {
        let service = service_fn(|request| {
            let server = Arc::clone(&self);
            async move { Ok::<_, Infallible>(server.respond(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_READ_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let _closed = connection.await;
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<ProxyBody> {
        let path = request.uri().path().strip_prefix('/').and_then(|path| path.strip_prefix(&self.key));
        let path = path.and_then(|path| path.strip_prefix('/'));
        let wanted = path.and_then(|path| FetchRequest::parse(request.method(), path, request.uri().query()));
        let Some(wanted) = wanted else { return empty(StatusCode::FORBIDDEN) };
        self.forward(wanted, request).await.unwrap_or_else(|failure| {
            self.failure.set(failure);
            // Never 401: git would ask for a password.
            empty(StatusCode::BAD_GATEWAY)
        })
    }

    async fn forward(
        &self,
        wanted: FetchRequest,
        request: Request<Incoming>,
    ) -> Result<Response<ProxyBody>, FetchFailure> {
        let (head, body) = request.into_parts();
        let mut call = self
            .client
            .request(head.method, wanted.url(&self.url))
            .headers(only(&head.headers, &REQUEST_HEADERS));
        if let Some(credential) = &self.credential {
            call = credential.authorize(call);
        }
        if wanted == FetchRequest::UploadPack {
            call = call.body(reqwest::Body::wrap(Limited::new(body, MAX_REQUEST_BYTES)));
        }
        let response = call.send().await.map_err(|error| {
            if blocked_address(&error).is_some() {
                return FetchFailure::Blocked;
            }
            let error = error.without_url();
            warn!(error = &error as &dyn Error, "cannot reach the host of a repository");
            FetchFailure::Unreachable
        })?;
        debug!(status = response.status().as_u16(), "forwarded a request of git");
        if let Some(failure) = FetchFailure::of_status(response.status()) {
            return Err(failure);
        }
        let response: Response<reqwest::Body> = response.into();
        let (head, body) = response.into_parts();
        let failure = Arc::clone(&self.failure);
        let body = Limited::new(body, self.max_bytes).map_err(move |error| {
            let is_too_large = error.is::<LengthLimitError>();
            failure.set(if is_too_large { FetchFailure::TooLarge } else { FetchFailure::Unreachable });
            error
        });
        let mut response = Response::new(body.boxed_unsync());
        *response.headers_mut() = only(&head.headers, &RESPONSE_HEADERS);
        Ok(response)
    }
}

/// Returns the headers of a list of allowed names.
fn only(headers: &HeaderMap, allowed: &[HeaderName]) -> HeaderMap {
    let found = allowed.iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    found.collect()
}

fn empty(status: StatusCode) -> Response<ProxyBody> {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_requests_of_a_fetch_are_forwarded() {
        let parse = FetchRequest::parse;
        assert_eq!(
            parse(&Method::GET, "info/refs", Some("service=git-upload-pack")),
            Some(FetchRequest::Refs)
        );
        assert_eq!(parse(&Method::POST, "git-upload-pack", None), Some(FetchRequest::UploadPack));
        for (method, path, query) in [
            (Method::GET, "info/refs", None),
            (Method::GET, "info/refs", Some("service=git-receive-pack")),
            (Method::GET, "info/refs", Some("service=git-upload-pack&private_token=x")),
            (Method::POST, "git-receive-pack", None),
            (Method::POST, "git-upload-pack", Some("x")),
            (Method::GET, "git-upload-pack", None),
            (Method::POST, "../other/git-upload-pack", None),
            (Method::POST, "/git-upload-pack", None),
            (Method::POST, "git%2dupload-pack", None),
            (Method::GET, "HEAD", None),
            (Method::GET, "objects/info/packs", None),
        ] {
            assert_eq!(parse(&method, path, query), None, "{method} {path} {query:?}");
        }
    }

    #[test]
    fn requests_go_below_the_path_of_the_repository() {
        let repository = Url::parse("https://git.example:8443/team/web.git").expect("URL");
        let urls = [FetchRequest::Refs, FetchRequest::UploadPack].map(|request| request.url(&repository));
        assert_eq!(
            urls.map(String::from),
            [
                "https://git.example:8443/team/web.git/info/refs?service=git-upload-pack",
                "https://git.example:8443/team/web.git/git-upload-pack"
            ]
        );
    }
}
