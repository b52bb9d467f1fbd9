//! The forwarder inside a sandbox: copies loopback connections to the socket of the
//! [model proxy](crate::model_proxy).
//!
//! It has no rules of its own: everything that it can reach is behind the socket.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guildhall_runtime::Tasks;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;

/// Buffer of one direction of a connection.
const BUFFER_BYTES: usize = 64 * 1024;

/// More than the proxy serves at a time, so that the proxy decides who waits.
const MAX_CONNECTIONS: usize = 256;

/// Pause after a failed `accept`, such as one without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Forwards every connection to the socket. Runs until it is dropped, which closes all connections.
pub async fn forward(listener: TcpListener, socket: PathBuf) {
    let (tasks, socket) = (Tasks::new(), Arc::new(socket));
    let stop = tasks.stop();
    let _stop_on_drop = stop.clone().drop_guard();
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let (socket, stop) = (Arc::clone(&socket), stop.clone());
        tasks.spawn("forwarded connection", async move {
            let _permit = permit;
            let _closed = stop.run_until_cancelled(forward_connection(stream, &socket)).await;
        });
    }
}

async fn forward_connection(mut agent: TcpStream, socket: &Path) -> io::Result<()> {
    agent.set_nodelay(true)?;
    let mut proxy = UnixStream::connect(socket).await?;
    copy_bidirectional_with_sizes(&mut agent, &mut proxy, BUFFER_BYTES, BUFFER_BYTES).await?;
    Ok(())
}
