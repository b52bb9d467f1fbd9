//! Accepts connections, and decides what each request is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use guildhall_runtime::Tasks;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::other_host::OtherHosts;
use super::provider::ProviderClient;
use super::reply::{ProxyBody, Rejection};

/// Connections of one sandbox; the next one waits. Package managers open dozens.
const MAX_CONNECTIONS: usize = 128;

/// Also the time that an idle connection stays open.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause after a failed `accept`, such as one without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The server behind a socket.
#[derive(Debug)]
pub(super) struct ProxyServer {
    pub(super) provider: ProviderClient,
    pub(super) other_hosts: OtherHosts,
    pub(super) tasks: Tasks,
}

impl ProxyServer {
    pub(super) async fn accept(self, listener: UnixListener) {
        let server = Arc::new(self);
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let stop = server.tasks.stop();
        let accept_all = async {
            while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
                match listener.accept().await {
                    Ok((stream, _)) => server.start_connection(stream, permit),
                    Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
                }
            }
        };
        stop.run_until_cancelled(accept_all).await;
    }

    fn start_connection(self: &Arc<Self>, stream: UnixStream, permit: OwnedSemaphorePermit) {
        let (server, permit, stop) = (Arc::clone(self), Arc::new(permit), self.tasks.stop());
        self.tasks.spawn("model proxy connection", async move {
            let service = service_fn(|request| {
                let (server, permit) = (Arc::clone(&server), Arc::clone(&permit));
                async move { Ok::<_, Infallible>(server.respond(request, permit).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_READ_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            let _closed = stop.run_until_cancelled(connection).await;
        });
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        permit: Arc<OwnedSemaphorePermit>,
    ) -> Response<ProxyBody> {
        let result = if request.method() == Method::CONNECT {
            self.other_hosts.open_tunnel(request, permit).await
        } else if request.uri().authority().is_some() || request.uri().scheme().is_some() {
            self.other_hosts.forward(request).await
        } else {
            self.provider.forward(request).await
        };
        result.unwrap_or_else(Rejection::response)
    }
}
