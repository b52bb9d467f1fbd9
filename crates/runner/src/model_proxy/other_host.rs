//! Other hosts than the provider: `CONNECT host:port` and `GET http://host/…`, under the host and address rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use guildhall_egress::{ConnectError, Connector};
use guildhall_runtime::Tasks;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::http::uri::{Authority, Scheme};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tracing::debug;

use super::budget::{Budget, BudgetExceeded};
use super::headers::without_hop_by_hop;
use super::hosts::{HostRules, HostTarget};
use super::metered_body::{MeteredBody, Observer};
use super::reply::{ProxyBody, Rejection};

/// Buffer of one direction of a tunnel.
const TUNNEL_BUFFER_BYTES: usize = 32 * 1024;

/// A tunnel without traffic is closed after this time.
const TUNNEL_IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// The client's handshake with the proxy, and the response head of a host.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);

const HTTP_PORT: u16 = 80;

/// Connects agents to other hosts.
#[derive(Debug)]
pub(super) struct OtherHosts {
    pub(super) rules: HostRules,
    pub(super) connector: Connector,
    pub(super) budget: Arc<Budget>,
    pub(super) tasks: Tasks,
}

impl OtherHosts {
    /// Opens a tunnel, which holds the permit of its connection.
    pub(super) async fn open_tunnel(
        &self,
        request: Request<Incoming>,
        permit: Arc<OwnedSemaphorePermit>,
    ) -> Result<Response<ProxyBody>, Rejection> {
        let stream = self.connect(request.uri().authority(), None).await?;
        let (budget, stop) = (Arc::clone(&self.budget), self.tasks.stop());
        self.tasks.spawn("tunnel", async move {
            let _permit = permit;
            let tunnel = async {
                if let Ok(Ok(agent)) = timeout(RESPONSE_TIMEOUT, hyper::upgrade::on(request)).await {
                    copy_tunnel(TokioIo::new(agent), stream, &budget).await;
                }
            };
            stop.run_until_cancelled(tunnel).await;
        });
        Ok(Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync()))
    }

    /// Forwards a request with an absolute `http` URL.
    pub(super) async fn forward(&self, request: Request<Incoming>) -> Result<Response<ProxyBody>, Rejection> {
        let (head, body) = request.into_parts();
        if head.uri.scheme() != Some(&Scheme::HTTP) || head.method == Method::TRACE {
            return Err(Rejection::HostNotAllowed);
        }
        let stream = self.connect(head.uri.authority(), Some(HTTP_PORT)).await?;
        let mut outgoing = Request::new(MeteredBody::new(body, Arc::clone(&self.budget), Observer::None));
        *outgoing.method_mut() = head.method;
        *outgoing.headers_mut() = without_hop_by_hop(&head.headers);
        // The host that was checked, whatever the agent's header says.
        let host = head.uri.authority().and_then(|authority| HeaderValue::try_from(authority.as_str()).ok());
        outgoing.headers_mut().insert(header::HOST, host.ok_or(Rejection::HostNotAllowed)?);
        *outgoing.uri_mut() =
            head.uri.path_and_query().cloned().map_or_else(|| Uri::from_static("/"), Uri::from);
        self.exchange(stream, outgoing).await.ok_or(Rejection::HostUnreachable)
    }

    async fn connect(
        &self,
        authority: Option<&Authority>,
        default_port: Option<u16>,
    ) -> Result<TcpStream, Rejection> {
        self.budget.check().map_err(|BudgetExceeded| Rejection::BudgetExceeded)?;
        let target = authority.and_then(|authority| HostTarget::parse(authority, default_port));
        // A name that is not allowed is not even resolved.
        let target = target.filter(|target| self.rules.allows(target)).ok_or(Rejection::HostNotAllowed)?;
        let connected = self.connector.connect(&target.host, target.port).await;
        debug!(host = %target.host, port = target.port, connected = connected.is_ok(), "connected to a host");
        connected.map_err(|error| match error {
            ConnectError::Blocked(_) => Rejection::HostNotAllowed,
            ConnectError::Unreachable(_) | ConnectError::TimedOut(_) => Rejection::HostUnreachable,
        })
    }

    async fn exchange(
        &self,
        stream: TcpStream,
        request: Request<MeteredBody<Incoming>>,
    ) -> Option<Response<ProxyBody>> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        let stop = self.tasks.stop();
        self.tasks.spawn("connection to a host", async move {
            let _closed = stop.run_until_cancelled(connection).await;
        });
        let response = timeout(RESPONSE_TIMEOUT, sender.send_request(request)).await.ok()?.ok()?;
        let (mut head, body) = response.into_parts();
        head.headers = without_hop_by_hop(&head.headers);
        let body = MeteredBody::new(body, Arc::clone(&self.budget), Observer::None);
        Some(Response::from_parts(head, body.boxed_unsync()))
    }
}

/// Copies both directions until both end or the budget is exhausted.
async fn copy_tunnel(agent: impl AsyncRead + AsyncWrite, host: impl AsyncRead + AsyncWrite, budget: &Budget) {
    let (agent_reader, agent_writer) = tokio::io::split(agent);
    let (host_reader, host_writer) = tokio::io::split(host);
    let traffic = AtomicU64::new(0);
    let copies = async {
        tokio::join!(
            copy(agent_reader, host_writer, budget, &traffic),
            copy(host_reader, agent_writer, budget, &traffic),
        )
    };
    tokio::select! { _ = copies => {} () = budget.wait_until_exceeded() => {} }
}

/// Copies one direction. `traffic` counts the reads of both.
async fn copy(
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    budget: &Budget,
    traffic: &AtomicU64,
) {
    let mut buffer = vec![0; TUNNEL_BUFFER_BYTES];
    while let Some(length) = read_until_idle(&mut reader, &mut buffer, traffic).await {
        if budget.add_bytes(length).is_err() || writer.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    let _closed = writer.shutdown().await;
}

/// Returns the number of bytes read; `None` at the end, or if neither direction had traffic for too long.
async fn read_until_idle(
    reader: &mut (impl AsyncRead + Unpin),
    buffer: &mut [u8],
    traffic: &AtomicU64,
) -> Option<usize> {
    loop {
        let before = traffic.load(Ordering::Relaxed);
        match timeout(TUNNEL_IDLE_TIMEOUT, reader.read(buffer)).await {
            Ok(Ok(length @ 1..)) => {
                traffic.fetch_add(1, Ordering::Relaxed);
                return Some(length);
            }
            Ok(Ok(0) | Err(_)) => return None,
            // The other direction had traffic: a long download sends nothing.
            Err(_) if traffic.load(Ordering::Relaxed) != before => {}
            Err(_) => return None,
        }
    }
}
