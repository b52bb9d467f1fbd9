//! A TCP forwarder in front of PostgreSQL: it drops traffic, changes its target, and leaves connections silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What happens to the connections to the earlier target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierConnections {
    Closed,
    /// They stay open and get no response, as if their host had lost its power.
    Silent,
}

#[derive(Debug)]
pub struct Forwarder {
    port: u16,
    shared: Arc<ForwarderState>,
}

#[derive(Debug)]
struct ForwarderState {
    target: AtomicU16,
    is_flowing: watch::Sender<bool>,
    /// The number of changes of the target, and what happens to earlier connections.
    changes: watch::Sender<(u64, EarlierConnections)>,
}

impl Forwarder {
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(ForwarderState {
            target: AtomicU16::new(target),
            is_flowing: watch::Sender::new(true),
            changes: watch::Sender::new((0, EarlierConnections::Closed)),
        });
        let accepting = Arc::clone(&shared);
        crate::spawn_task(async move {
            while let Ok((client, _)) = listener.accept().await {
                crate::spawn_task(forward(client, Arc::clone(&accepting)));
            }
        });
        Self { port, shared }
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Drops traffic in both directions, like a firewall: no connection is closed.
    pub fn drop_traffic(&self) {
        self.shared.is_flowing.send_replace(false);
    }

    pub fn resume_traffic(&self) {
        self.shared.is_flowing.send_replace(true);
    }

    /// Ends all connections.
    pub fn sever(&self, earlier: EarlierConnections) {
        self.shared
            .changes
            .send_modify(|(count, connections)| (*count, *connections) = (*count + 1, earlier));
    }

    pub fn set_target(&self, port: u16) {
        self.shared.target.store(port, Ordering::SeqCst);
    }
}

async fn forward(client: TcpStream, shared: Arc<ForwarderState>) {
    let (mut is_flowing, mut changes) = (shared.is_flowing.subscribe(), shared.changes.subscribe());
    changes.mark_unchanged();
    if is_flowing.wait_for(|is_flowing| *is_flowing).await.is_err() {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", shared.target.load(Ordering::SeqCst))).await else {
        return;
    };
    let _delay = client.set_nodelay(true).and(server.set_nodelay(true));
    let ((client_read, client_write), (server_read, server_write)) =
        (client.into_split(), server.into_split());
    let pumps = async {
        tokio::select! {
            () = pump(client_read, server_write, is_flowing.clone()) => {}
            () = pump(server_read, client_write, is_flowing.clone()) => {}
        }
    };
    tokio::pin!(pumps);
    tokio::select! {
        () = &mut pumps => {}
        _changed = changes.changed() => {
            if changes.borrow().1 == EarlierConnections::Silent {
                // The halves live in the future, which is not polled any more.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Copies bytes while traffic flows. The end of a connection is not passed on while traffic is dropped.
async fn pump(mut reader: OwnedReadHalf, mut writer: OwnedWriteHalf, mut is_flowing: watch::Receiver<bool>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = reader.read(&mut buffer).await.unwrap_or(0);
        let is_open = is_flowing.wait_for(|is_flowing| *is_flowing).await.is_ok();
        if !is_open || count == 0 || writer.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
