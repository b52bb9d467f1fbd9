//! Accepts and serves connections until shutdown.

use std::io;
use std::net::IpAddr;
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
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use metrics::gauge;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tracing::{debug, warn};

use crate::edge::client_address::{ClientAddress, DirectConnection};
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

/// What is needed to serve a connection.
struct ConnectionContext {
    service: Router,
    builder: Builder<TokioExecutor>,
    header_timeout: Duration,
    trusted_proxies: Arc<TrustedProxies>,
}

/// Serves until `stop`; then accepts no connections and waits for open requests, at most for `drain`.
pub async fn serve(
    listener: TcpListener,
    app: App,
    stop: CancellationToken,
    drain: Duration,
) -> DrainOutcome {
    let limits = app.limits;
    let context = ConnectionContext {
        trusted_proxies: Arc::new(app.trusted_proxies.clone()),
        service: router(app),
        builder: connection_builder(limits),
        header_timeout: limits.header_timeout,
    };
    let (open, graceful) = (TaskTracker::new(), GracefulShutdown::new());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if open.len() >= limits.connections => reject_connection(&open, stream),
            Ok((stream, peer)) => serve_connection(&open, &graceful, &context, stream, peer.ip()),
            Err(error) => back_off_after(&error).await,
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge of connections is exact to 2^53")]
        gauge!("guildhall_http_connections").set(open.len() as f64);
    }
    drop(listener);
    open.close();
    if tokio::time::timeout(drain, graceful.shutdown()).await.is_ok() {
        DrainOutcome::Complete
    } else {
        DrainOutcome::TimedOut
    }
}

fn connection_builder(limits: Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.header_timeout);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    builder
}

#[expect(
    clippy::disallowed_methods,
    reason = "one task per connection; the tracker and the graceful shutdown join them"
)]
fn serve_connection(
    open: &TaskTracker,
    graceful: &GracefulShutdown,
    context: &ConnectionContext,
    stream: TcpStream,
    peer: IpAddr,
) {
    // Responses are small and latency matters.
    let _best_effort = stream.set_nodelay(true);
    let (first_request, header_timeout) = (CancellationToken::new(), context.header_timeout);
    let (received, proxies) = (first_request.clone(), Arc::clone(&context.trusted_proxies));
    let service = context.service.clone().map_request(move |mut request: hyper::Request<Incoming>| {
        received.cancel();
        let client = ClientAddress::new(peer, request.headers(), &proxies);
        let direct = DirectConnection::new(peer, request.headers());
        request.extensions_mut().insert(client);
        request.extensions_mut().insert(direct);
        request.map(axum::body::Body::new)
    });
    let connection = context
        .builder
        .serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    let connection = graceful.watch(connection.into_owned());
    tokio::spawn(open.track_future(async move {
        let mut connection = std::pin::pin!(connection);
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
    }));
}

#[expect(clippy::disallowed_methods, reason = "short, with its own timeout, and counted by the tracker")]
fn reject_connection(open: &TaskTracker, mut stream: TcpStream) {
    tokio::spawn(open.track_future(async move {
        let _client_gone =
            tokio::time::timeout(Duration::from_secs(1), stream.write_all(overload_response().as_bytes()))
                .await;
    }));
}

/// Returns the raw HTTP response for a connection over the limit.
fn overload_response() -> String {
    let failure = Failure::new(FailureKind::Overloaded, "too many open connections; try again in a moment");
    let trace = TraceContext::from_traceparent(&tracing::Span::none(), None);
    let body = serde_json::to_string(&Problem::new(&failure, trace.trace_id())).unwrap_or_default();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {CONTENT_TYPE}\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Waits after an accept error such as "too many open files": an immediate retry would spin.
async fn back_off_after(error: &io::Error) {
    warn!(error = error as &dyn std::error::Error, "cannot accept a connection");
    tokio::time::sleep(Duration::from_millis(100)).await;
}
