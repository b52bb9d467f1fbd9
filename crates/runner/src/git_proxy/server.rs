//! Serves git in the sandbox: the two requests of a fetch, and nothing else.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::blocked_address;
use guildhall_runtime::Tasks;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::either::Either;
use tracing::{debug, warn};
use url::Url;

use super::RemoteRepository;
use super::failure::{FetchFailure, LastFailure};

/// Git uses one or two at a time.
const MAX_CONNECTIONS: usize = 8;

const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause after a failed `accept`, such as one without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// What git says that it has and wants.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

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

/// Where git connects to.
#[derive(Debug)]
pub(super) enum ProxyListener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl ProxyListener {
    async fn accept(&self) -> io::Result<Either<UnixStream, TcpStream>> {
        match self {
            Self::Unix(listener) => listener.accept().await.map(|(stream, _)| Either::Left(stream)),
            Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| Either::Right(stream)),
        }
    }
}

/// The server behind a listener.
#[derive(Debug)]
pub(super) struct RepositoryServer {
    pub(super) client: reqwest::Client,
    pub(super) repository: RemoteRepository,
    /// The first segment of every path.
    pub(super) key: String,
    pub(super) failure: Arc<LastFailure>,
    pub(super) tasks: Tasks,
}

impl RepositoryServer {
    pub(super) async fn accept(self: Arc<Self>, listener: ProxyListener) {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let stop = self.tasks.stop();
        let accept_all = async {
            while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
                let Ok(stream) = listener.accept().await else {
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                };
                let (server, stop) = (Arc::clone(&self), self.tasks.stop());
                self.tasks.spawn("git proxy connection", async move {
                    let _permit = permit;
                    let _closed = stop.run_until_cancelled(server.serve(stream)).await;
                });
            }
        };
        stop.run_until_cancelled(accept_all).await;
    }

    async fn serve(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin) {
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
            .request(head.method, wanted.url(&self.repository.url))
            .headers(only(&head.headers, &REQUEST_HEADERS));
        if let Some(credential) = &self.repository.credential {
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
        let body = Limited::new(body, self.repository.max_bytes).map_err(move |error| {
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
