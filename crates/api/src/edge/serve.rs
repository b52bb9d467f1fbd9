//! Accepts and serves connections until shutdown.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use guildhall_domain::ops::client_address::TrustedProxies;
use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_runtime::telemetry::trace::TraceContext;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use metrics::gauge;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tracing::{debug, warn};

use crate::edge::access_rules::{AccessRules, HostAccess, host_of};
use crate::edge::client_address::{ClientAddress, DirectConnection};
use crate::edge::read_limit::LimitedStream;
use crate::edge::tls::{Handshake, Handshaker, TlsListener};
use crate::http::router;
use crate::{App, Limits};

/// How the shutdown ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainOutcome {
    /// Every accepted request got its response.
    Complete,
    /// Some requests were still open at the timeout.
    TimedOut,
}

/// Where the server accepts connections.
pub struct Listeners {
    pub plain: TcpListener,
    pub tls: Option<TlsListener>,
}

/// What is needed to serve a connection.
struct ConnectionContext {
    service: Router,
    builder: Builder<TokioExecutor>,
    header_timeout: Duration,
    trusted_proxies: TrustedProxies,
    access_rules: AccessRules,
    stop: CancellationToken,
}

/// Serves until `stop`; then accepts no connections and waits for open requests, at most for `drain`.
pub async fn serve(listeners: Listeners, app: App, stop: CancellationToken, drain: Duration) -> DrainOutcome {
    let limits = app.limits;
    let context = Arc::new(ConnectionContext {
        trusted_proxies: app.trusted_proxies.clone(),
        access_rules: app.access_rules.clone(),
        service: router(app),
        builder: connection_builder(limits),
        header_timeout: limits.header_timeout,
        stop: stop.clone(),
    });
    let (open, graceful) = (TaskTracker::new(), GracefulShutdown::new());
    let plain = listeners.plain;
    let tls = listeners.tls.map(|tls| (tls.handshaker(limits.header_timeout), tls.listener));
    loop {
        let (accepted, handshaker) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = plain.accept() => (accepted, None),
            (accepted, handshaker) = accept_tls(tls.as_ref()) => (accepted, Some(handshaker)),
        };
        let is_full = open.len() >= limits.connections;
        match (accepted, handshaker) {
            (Ok((stream, _)), None) if is_full => reject_connection(&open, stream),
            // An answer would need a handshake.
            (Ok(_), Some(_)) if is_full => {}
            (Ok((stream, peer)), handshaker) => {
                let watcher = graceful.watcher();
                serve_connection(
                    &open,
                    Arc::clone(&context),
                    watcher,
                    handshaker.cloned(),
                    (stream, peer.ip()),
                );
            }
            (Err(error), _) => back_off_after(&error).await,
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge of connections is exact to 2^53")]
        gauge!("guildhall_http_connections").set(open.len() as f64);
    }
    drop((plain, tls));
    open.close();
    if tokio::time::timeout(drain, graceful.shutdown()).await.is_ok() {
        DrainOutcome::Complete
    } else {
        DrainOutcome::TimedOut
    }
}

/// Accepts a connection of the TLS port. Without one it waits for ever.
async fn accept_tls(
    tls: Option<&(Handshaker, TcpListener)>,
) -> (io::Result<(TcpStream, SocketAddr)>, &Handshaker) {
    match tls {
        Some((handshaker, listener)) => (listener.accept().await, handshaker),
        None => std::future::pending().await,
    }
}

/// The most that a connection of HTTP/1.1 holds of a request: its headers, or a part of its body. The library's default of
/// 400 KiB would let 10,000 unfinished requests take 4 GB.
const HTTP1_BUFFER_BYTES: usize = 32 * 1024;

fn connection_builder(limits: Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(HTTP1_BUFFER_BYTES);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    builder
}

#[expect(
    clippy::disallowed_methods,
    reason = "one task per connection; the tracker and the graceful shutdown join them"
)]
fn serve_connection(
    open: &TaskTracker,
    context: Arc<ConnectionContext>,
    watcher: Watcher,
    handshaker: Option<Handshaker>,
    (stream, peer): (TcpStream, IpAddr),
) {
    // Responses are small and latency matters.
    let _best_effort = stream.set_nodelay(true);
    let Some(handshaker) = handshaker else {
        tokio::spawn(open.track_future(serve_http(context, watcher, stream, peer)));
        return;
    };
    tokio::spawn(open.track_future(async move {
        let stop = context.stop.clone();
        // Boxed: an open connection does not keep the memory of its handshake.
        let handshake = Box::pin(async move { handshaker.accept(stream).await });
        let accepted = tokio::select! {
            accepted = handshake => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok(Handshake::Complete(stream)) => serve_http(context, watcher, stream, peer).await,
            Ok(Handshake::Plain(stream)) => reject_plain(stream).await,
            Err(error) => debug!(error = &error as &dyn std::error::Error, "TLS handshake failed"),
        }
    }));
}

/// Serves the requests of a connection until it ends.
async fn serve_http<S>(context: Arc<ConnectionContext>, watcher: Watcher, stream: S, peer: IpAddr)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (first_request, header_timeout) = (CancellationToken::new(), context.header_timeout);
    let (received, shared) = (first_request.clone(), Arc::clone(&context));
    let (stream, read_limit) = LimitedStream::new(stream);
    let service = context.service.clone().map_request(move |mut request: hyper::Request<Incoming>| {
        received.cancel();
        rewrite_target(&mut request, &shared.access_rules);
        let client = ClientAddress::new(peer, request.headers(), &shared.trusted_proxies);
        let direct = DirectConnection::new(peer, request.headers());
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(direct);
        request.extensions_mut().insert(read_limit.clone());
        request.map(axum::body::Body::new)
    });
    let connection = context
        .builder
        .serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(watcher.watch(connection.into_owned()));
    // hyper's own header timeout starts with the first byte; it does not cover a silent connection.
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = first_request.cancelled() => None,
        () = tokio::time::sleep(header_timeout) => return,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => connection.await,
    };
    if let Err(error) = ended {
        debug!(error, "connection failed");
    }
}

/// Maps the paths of a host of the issuer to those of the server, before the router sees them.
fn rewrite_target(request: &mut hyper::Request<Incoming>, rules: &AccessRules) {
    if rules.issuer.is_none() {
        return;
    }
    if let HostAccess::Issuer(host) = rules.host_access(&host_of(request.uri(), request.headers()))
        && let Some(target) = host.rewrite(request.uri())
    {
        *request.uri_mut() = target;
    }
}

/// How long a client has to take the answer to a connection that is not served.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes that are read from a client before its connection is closed. Closing earlier would discard the answer.
const MAX_DISCARDED: u64 = 64 * 1024;

/// Answers a request without TLS on the TLS port.
async fn reject_plain(mut stream: TcpStream) {
    let message = "this port speaks HTTPS: use a URL that begins with https://";
    let response = raw_response("400 Bad Request", &Failure::new(FailureKind::SchemaInvalid, message));
    let rejection = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(MAX_DISCARDED), &mut tokio::io::sink()).await
    };
    let _client_gone = tokio::time::timeout(REJECTION_TIMEOUT, rejection).await;
}

#[expect(clippy::disallowed_methods, reason = "short, with its own timeout, and counted by the tracker")]
fn reject_connection(open: &TaskTracker, mut stream: TcpStream) {
    tokio::spawn(open.track_future(async move {
        let message = "too many open connections; try again in a moment";
        let failure = Failure::new(FailureKind::Overloaded, message);
        let response = raw_response("503 Service Unavailable\r\nretry-after: 1", &failure);
        let _client_gone =
            tokio::time::timeout(REJECTION_TIMEOUT, stream.write_all(response.as_bytes())).await;
    }));
}

/// Returns the raw HTTP response for a connection that is not served. `status` can have header lines after it.
fn raw_response(status: &str, failure: &Failure) -> String {
    let trace = TraceContext::from_traceparent(&tracing::Span::none(), None);
    let body = serde_json::to_string(&Problem::new(failure, trace.trace_id())).unwrap_or_default();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {CONTENT_TYPE}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Waits after an accept error such as "too many open files": an immediate retry would spin.
async fn back_off_after(error: &io::Error) {
    warn!(error = error as &dyn std::error::Error, "cannot accept a connection");
    tokio::time::sleep(Duration::from_millis(100)).await;
}
