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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;
    use tokio::time::timeout;

    use super::*;

    const WAIT: Duration = Duration::from_secs(10);

    async fn listen() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        (listener, address)
    }

    async fn read_all(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _reset = timeout(WAIT, stream.read_to_end(&mut bytes)).await.expect("the stream ends");
        bytes
    }

    #[tokio::test]
    async fn half_closed_connection_still_receives() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("model.sock");
        let (proxy, (listener, address)) = (UnixListener::bind(&socket).expect("a socket"), listen().await);
        let exchange = async {
            let mut agent = TcpStream::connect(address).await.expect("connects");
            agent.write_all(b"request").await.expect("sent");
            agent.shutdown().await.expect("half-closed");
            let (mut forwarded, _) = proxy.accept().await.expect("forwarded");
            assert_eq!(read_all(&mut forwarded).await, b"request");
            forwarded.write_all(b"response").await.expect("sent");
            drop(forwarded);
            assert_eq!(read_all(&mut agent).await, b"response");
        };
        tokio::select! { () = exchange => {} () = forward(listener, socket) => unreachable!("it runs forever") }
    }

    #[tokio::test]
    async fn connection_without_a_proxy_is_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (listener, address) = listen().await;
        let exchange = async {
            for _ in 0..2 {
                let mut agent = TcpStream::connect(address).await.expect("connects");
                assert_eq!(read_all(&mut agent).await, b"");
            }
        };
        let forwarder = forward(listener, folder.path().join("missing.sock"));
        tokio::select! { () = exchange => {} () = forwarder => unreachable!("it runs forever") }
    }

    #[tokio::test]
    async fn dropped_forwarder_closes_its_connections() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("model.sock");
        let (proxy, (listener, address)) = (UnixListener::bind(&socket).expect("a socket"), listen().await);
        let accept = async {
            let agent = TcpStream::connect(address).await.expect("connects");
            (agent, proxy.accept().await.expect("forwarded").0)
        };
        let (mut agent, mut forwarded) = tokio::select! {
            pair = accept => pair,
            () = forward(listener, socket) => unreachable!("it runs forever"),
        };
        assert_eq!((read_all(&mut agent).await, read_all(&mut forwarded).await), (Vec::new(), Vec::new()));
    }
}
