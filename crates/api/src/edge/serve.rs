//! Accepts connections and serves them until told to stop.

use std::io;
use std::time::Duration;

use axum::Router;
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

use crate::edge::rates::Peer;
use crate::http::router;
use crate::{App, Limits};

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every request that was accepted got its answer.
    Whole,
    /// Some were still at work when the time was up.
    Cut,
}

/// What every new connection gets.
struct Door {
    service: Router,
    builder: Builder<TokioExecutor>,
    header_timeout: Duration,
}

/// Serves until `stop`; then takes no more connections and lets open requests end, at most `drain` long.
pub async fn serve(listener: TcpListener, app: App, stop: CancellationToken, drain: Duration) -> Drained {
    let limits = app.limits;
    let door =
        Door { service: router(app), builder: connections(limits), header_timeout: limits.header_timeout };
    let (open, graceful) = (TaskTracker::new(), GracefulShutdown::new());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if open.len() >= limits.connections => refuse(&open, stream),
            Ok((stream, peer)) => begin(&open, &graceful, &door, stream, Peer(peer.ip())),
            Err(error) => rest_after(&error).await,
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge of connections is exact to 2^53")]
        gauge!("guildhall_http_connections").set(open.len() as f64);
    }
    drop(listener);
    open.close();
    if tokio::time::timeout(drain, graceful.shutdown()).await.is_ok() { Drained::Whole } else { Drained::Cut }
}

fn connections(limits: Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.header_timeout);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    builder
}

#[expect(
    clippy::disallowed_methods,
    reason = "connections are many and nameless; the tracker and the drain join them"
)]
fn begin(open: &TaskTracker, graceful: &GracefulShutdown, door: &Door, stream: TcpStream, peer: Peer) {
    // Answers are small and wanted at once.
    let _best_effort = stream.set_nodelay(true);
    let (first_request, patience) = (CancellationToken::new(), door.header_timeout);
    let seen = first_request.clone();
    let service = door.service.clone().map_request(move |mut request: hyper::Request<Incoming>| {
        seen.cancel();
        request.extensions_mut().insert(peer);
        request.map(axum::body::Body::new)
    });
    let connection =
        door.builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    let connection = graceful.watch(connection.into_owned());
    tokio::spawn(open.track_future(async move {
        let mut connection = std::pin::pin!(connection);
        // hyper's own time limit begins with the first byte that tells HTTP/1 from HTTP/2; silence has none.
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = first_request.cancelled() => None,
            () = tokio::time::sleep(patience) => return,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => connection.await,
        };
        if let Err(error) = ended {
            debug!(error, "a connection ended badly");
        }
    }));
}

#[expect(
    clippy::disallowed_methods,
    reason = "short, bounded by its own time limit, and counted by the tracker"
)]
fn refuse(open: &TaskTracker, mut stream: TcpStream) {
    tokio::spawn(open.track_future(async move {
        let _client_gone =
            tokio::time::timeout(Duration::from_secs(1), stream.write_all(full().as_bytes())).await;
    }));
}

/// What a connection over the limit is told before it is closed: a whole answer, so that no client has to guess.
fn full() -> String {
    let failure = Failure::new(
        FailureKind::Overloaded,
        "the server holds as many connections as it can; try again in a moment",
    );
    let trace = TraceContext::adopt(&tracing::Span::none(), None);
    let body = serde_json::to_string(&Problem::new(&failure, trace.trace_id())).unwrap_or_default();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {CONTENT_TYPE}\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// An accept error such as "too many open files" passes; asking again at once would spin.
async fn rest_after(error: &io::Error) {
    warn!(error = error as &dyn std::error::Error, "cannot accept a connection");
    tokio::time::sleep(Duration::from_millis(100)).await;
}
