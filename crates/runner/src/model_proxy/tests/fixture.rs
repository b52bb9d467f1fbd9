//! A proxy on a socket in a private folder, a client that writes raw requests, and a provider that records them.

use std::convert::Infallible;
use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc;
use guildhall_egress::Connector;
use guildhall_runtime::Tasks;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::time::timeout;

use crate::model_proxy::{
    CredentialHeader, HostRules, ModelCaps, ModelProxy, ModelProxyConfig, RESPONSES_ROUTES,
};

pub(super) const KEY: &str = "sk-provider-key";

/// The limit of every wait.
pub(super) const WAIT: Duration = Duration::from_secs(10);

pub(super) fn config(base_url: &str) -> ModelProxyConfig {
    ModelProxyConfig {
        base_url: base_url.parse().expect("a URL"),
        credential: Some(KEY.into()),
        credential_header: CredentialHeader::Bearer,
        routes: RESPONSES_ROUTES,
        caps: ModelCaps::default(),
        hosts: HostRules::None,
        connector: Connector::default(),
    }
}

/// A proxy and its socket.
pub(super) struct TestProxy {
    pub(super) proxy: ModelProxy,
    pub(super) socket: PathBuf,
    pub(super) folder: TempDir,
}

impl TestProxy {
    pub(super) async fn start(config: ModelProxyConfig) -> Self {
        let folder = private_folder();
        let socket = folder.path().join("model.sock");
        let proxy = ModelProxy::start(config, &socket).await.expect("starts");
        Self { proxy, socket, folder }
    }

    pub(super) async fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.expect("connects")
    }

    /// Sends raw bytes on a new connection and reads to its end.
    pub(super) async fn send_raw(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        // The proxy may refuse a request before it was read.
        let _refused = stream.write_all(request.as_ref()).await;
        let mut response = Vec::new();
        let _reset = timeout(WAIT, stream.read_to_end(&mut response)).await.expect("the connection ends");
        String::from_utf8_lossy(&response).into_owned()
    }

    /// Sends one request; the proxy closes the connection after it.
    pub(super) async fn send(&self, request_line: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        self.send_raw(format!(
            "{request_line} HTTP/1.1\r\nhost: model\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ))
        .await
    }

    pub(super) async fn post(&self, path: &str, body: &str) -> String {
        self.send(&format!("POST {path}"), "content-type: application/json\r\n", body).await
    }
}

pub(super) fn private_folder() -> TempDir {
    let mode = Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(mode).tempdir().expect("a folder")
}

/// Returns the status of a raw response.
pub(super) fn status(response: &str) -> u16 {
    let code = response.split(' ').nth(1).and_then(|code| code.parse().ok());
    code.unwrap_or_else(|| panic!("expected a response: {response:?}"))
}

/// A request that the provider received.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Respond = dyn Fn(&ReceivedRequest) -> Response<Body> + Send + Sync;

/// An HTTP server that records requests.
pub(super) struct RecordingServer {
    pub(super) address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    tasks: Tasks,
}

impl RecordingServer {
    pub(super) async fn start(
        respond: impl Fn(&ReceivedRequest) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST, respond).await
    }

    pub(super) async fn start_at(
        address: Ipv4Addr,
        respond: impl Fn(&ReceivedRequest) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let (received, tasks) = (Arc::<Mutex<Vec<ReceivedRequest>>>::default(), Tasks::new());
        let (respond, log): (Arc<Respond>, _) = (Arc::new(respond), Arc::clone(&received));
        let (connections, stop) = (tasks.clone(), tasks.stop());
        tasks.spawn("recording server", async move {
            while let Some(Ok((stream, _))) = stop.run_until_cancelled(listener.accept()).await {
                let (respond, log, stop) = (Arc::clone(&respond), Arc::clone(&log), stop.clone());
                connections.spawn("recorded connection", async move {
                    let service =
                        service_fn(move |request| handle(request, Arc::clone(&respond), Arc::clone(&log)));
                    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    let _closed = stop.run_until_cancelled(connection).await;
                });
            }
        });
        Self { address, received, tasks }
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(super) fn requests(&self) -> Vec<ReceivedRequest> {
        self.received.lock().expect("no panic inside").clone()
    }
}

impl Drop for RecordingServer {
    fn drop(&mut self) {
        self.tasks.stop().cancel();
    }
}

async fn handle(
    request: Request<Incoming>,
    respond: Arc<Respond>,
    log: Arc<Mutex<Vec<ReceivedRequest>>>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let request = ReceivedRequest { target: head.uri.to_string(), headers: head.headers, body };
    log.lock().expect("no panic inside").push(request.clone());
    Ok(respond(&request))
}

pub(super) fn response(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response<Body> {
    let builder = headers
        .iter()
        .fold(Response::builder().status(status), |builder, (name, value)| builder.header(*name, *value));
    builder.body(Full::new(body.into()).boxed_unsync()).expect("a response")
}

pub(super) fn json(body: impl Into<Bytes>) -> Response<Body> {
    response(200, &[("content-type", "application/json")], body)
}

/// A stream of server-sent events that a test sends one by one.
pub(super) struct ControlledStream {
    pub(super) events: mpsc::UnboundedSender<Bytes>,
    pub(super) provider: RecordingServer,
}

impl ControlledStream {
    pub(super) async fn start() -> Self {
        let (events, receiver) = mpsc::unbounded::<Bytes>();
        let receiver = Mutex::new(Some(receiver));
        let provider = RecordingServer::start(move |_| {
            let receiver = receiver.lock().expect("no panic inside").take().expect("one request");
            let frames = receiver.map(|bytes| Ok(Frame::data(bytes)));
            Response::builder()
                .header("content-type", "text/event-stream")
                .body(BodyExt::boxed_unsync(StreamBody::new(frames)))
                .expect("a response")
        })
        .await;
        Self { events, provider }
    }

    pub(super) fn send(&self, event: &str) {
        self.events.unbounded_send(Bytes::from(format!("data: {event}\n\n"))).expect("the provider streams");
    }
}

/// Reads until a text arrived; returns false if the connection ends before.
pub(super) async fn read_until(stream: &mut (impl AsyncReadExt + Unpin), expected: &str) -> bool {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let length = timeout(WAIT, stream.read(&mut buffer)).await.expect("bytes arrive").unwrap_or(0);
        text.extend_from_slice(&buffer[..length]);
        if String::from_utf8_lossy(&text).contains(expected) {
            return true;
        }
        if length == 0 {
            return false;
        }
    }
}
