//! Where git connects to: a socket for a sandbox, or a free port of loopback without one.

use std::fs::Permissions;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guildhall_runtime::Tasks;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::either::Either;

use crate::sandbox::{Containment, PROXY_PORT};

/// Git uses one or two at a time.
const MAX_CONNECTIONS: usize = 8;

/// Everyone may connect. Only the owner of its folder can reach it, and one sandbox has the socket.
const SOCKET_MODE: u32 = 0o666;

/// Pause after a failed `accept`, such as one without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

pub(super) type ProxyStream = Either<UnixStream, TcpStream>;

#[derive(Debug)]
pub(super) enum ProxyListener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl ProxyListener {
    /// Binds the socket for a sandbox, or a port. Returns the port under which a program reaches it.
    pub(super) async fn bind(containment: &Containment, socket: &Path) -> io::Result<(Self, u16)> {
        match containment {
            Containment::Sandboxed(_) => {
                let listener = UnixListener::bind(socket)?;
                std::fs::set_permissions(socket, Permissions::from_mode(SOCKET_MODE))?;
                Ok((Self::Unix(listener), PROXY_PORT))
            }
            Containment::Uncontained => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let port = listener.local_addr()?.port();
                Ok((Self::Tcp(listener), port))
            }
        }
    }

    /// Serves every connection in a task, until the tasks stop.
    pub(super) async fn serve<F>(self, tasks: Tasks, serve: impl Fn(ProxyStream) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let stop = tasks.stop();
        let accept_all = async {
            while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
                let Ok(stream) = self.accept().await else {
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                };
                let (stop, connection) = (tasks.stop(), serve(stream));
                tasks.spawn("git proxy connection", async move {
                    let _permit = permit;
                    let _closed = stop.run_until_cancelled(connection).await;
                });
            }
        };
        stop.run_until_cancelled(accept_all).await;
    }

    async fn accept(&self) -> io::Result<ProxyStream> {
        match self {
            Self::Unix(listener) => listener.accept().await.map(|(stream, _)| Either::Left(stream)),
            Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| Either::Right(stream)),
        }
    }
}
