//! A real Git server over HTTPS: `git http-backend` behind TLS and a password.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_runtime::Tasks;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;

/// A server for the repositories below a folder.
#[derive(Debug)]
pub struct GitServer {
    port: u16,
    authority_pem: String,
    state: Arc<ServerState>,
    _tasks: Tasks,
}

#[derive(Debug)]
struct ServerState {
    repositories: PathBuf,
    /// The value of `Authorization` that is required; none for public repositories.
    authorization: Option<String>,
    /// Method, path and query of each request.
    requests: Mutex<Vec<String>>,
    /// Bytes of all responses.
    sent_bytes: AtomicU64,
}

impl GitServer {
    /// Starts a server. `authorization` is the header that every request must have, such as `Basic …`.
    pub async fn start(repositories: &Path, authorization: Option<&str>) -> Self {
        let (config, authority_pem) = server_config();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let tasks = Tasks::new();
        let state = Arc::new(ServerState {
            repositories: repositories.to_owned(),
            authorization: authorization.map(str::to_owned),
            requests: Mutex::default(),
            sent_bytes: AtomicU64::new(0),
        });
        let accept = accept(listener, acceptor, Arc::clone(&state), tasks.clone());
        tasks.spawn("git server", accept);
        Self { port, authority_pem, state, _tasks: tasks }
    }

    /// Returns the URL of a repository.
    #[must_use]
    pub fn url(&self, repository: &str) -> String {
        format!("https://localhost:{}/{repository}", self.port)
    }

    /// Returns the host with its port.
    #[must_use]
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// The certificate of the authority, for `SSL_CERT_FILE`.
    #[must_use]
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// Returns the requests until now: method, path and query.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the bytes of all responses until now.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.state.sent_bytes.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<ServerState>, tasks: Tasks) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, state) = (acceptor.clone(), Arc::clone(&state));
        tasks.spawn("connection", async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(|request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(state.respond(request).await) }
            });
            let _closed = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl ServerState {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let line = format!("{} {}", request.method(), request.uri());
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let given = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        if self.authorization.as_deref().is_some_and(|wanted| given != Some(wanted)) {
            return status(StatusCode::UNAUTHORIZED);
        }
        let response = self.run_backend(request).await;
        let length = response.body().size_hint().exact().unwrap_or_default();
        self.sent_bytes.fetch_add(length, Ordering::Relaxed);
        response
    }

    /// Runs git as a CGI program.
    async fn run_backend(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut backend = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.repositories)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .env("REQUEST_METHOD", head.method.as_str())
            .env("PATH_INFO", head.uri.path())
            .env("QUERY_STRING", head.uri.query().unwrap_or_default())
            .env("CONTENT_TYPE", header("content-type"))
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", header("git-protocol"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("start git");
        let body = body.collect().await.expect("a body").to_bytes();
        let mut stdin = backend.stdin.take().expect("piped");
        let write = async move {
            let _closed = stdin.write_all(&body).await;
        };
        let (output, ()) = tokio::join!(backend.wait_with_output(), write);
        cgi_response(&output.expect("output").stdout)
    }
}

/// Reads the headers of a CGI program.
fn cgi_response(output: &[u8]) -> Response<Full<Bytes>> {
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").expect("headers");
    let mut response = Response::new(Full::from(Bytes::copy_from_slice(&output[end + 4..])));
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let (name, value) = line.split_once(": ").expect("a header");
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().and_then(|code| code.parse().ok());
            *response.status_mut() = code.expect("a status");
        } else if let (Ok(name), Ok(value)) = (hyper::header::HeaderName::try_from(name), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

fn server_config() -> (ServerConfig, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("valid");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed");
    let key = KeyPair::generate().expect("a key");
    let leaf =
        CertificateParams::new(vec!["localhost".to_owned()]).expect("a name").signed_by(&key, &authority);
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.expect("signed").der().clone()],
            key.serialize_der().try_into().expect("a key"),
        )
        .expect("a pair");
    (config, authority.pem())
}
