//! Memory of an idle authenticated socket: the growth of the server's resident set with 15,000 of them, each of an AID of its
//! own.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use guildhall_runtime::Tasks;
use guildhall_sdk::socket::SocketState;

use crate::aun::{AddressLimits, Gateway, Transport, connect_all, register_all};
use crate::memory::resident_bytes;

/// The limit of open files is often 20,000.
const SOCKETS: usize = 15_000;

/// Sockets that are opened and closed before the first reading, so that the server has its connections and caches.
const WARM_UP_SOCKETS: usize = 1_000;

/// Time in which the server forgets closed sockets, and the allocator returns what is free.
const SETTLE: Duration = Duration::from_secs(15);

/// What an idle socket costs.
pub(super) struct SocketCost {
    pub(super) bytes: u64,
    pub(super) connects_per_second: f64,
}

pub(super) async fn measure(transport: Transport) -> Result<SocketCost> {
    let gateway = Gateway::start(transport, AddressLimits::Raised)?;
    let (endpoint, pid) = (&gateway.endpoint, gateway.installation.server_pid());
    let aids = register_all(endpoint, SOCKETS).await?;
    for client in connect_all(endpoint, &aids[..WARM_UP_SOCKETS], &Tasks::new()).await? {
        client.close().await;
    }
    tokio::time::sleep(SETTLE).await;
    let before = resident_bytes(pid)?;
    let (tasks, began) = (Tasks::new(), Instant::now());
    let clients = connect_all(endpoint, &aids, &tasks).await?;
    let elapsed = began.elapsed();
    tokio::time::sleep(SETTLE).await;
    let after = resident_bytes(pid)?;
    let connected = clients.iter().filter(|client| matches!(client.state(), SocketState::Connected(_)));
    ensure!(connected.count() == SOCKETS, "connections were lost");
    println!("{transport:?}: server {} KiB, with {SOCKETS} sockets {} KiB", before / 1024, after / 1024);
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let connects_per_second = SOCKETS as f64 / elapsed.as_secs_f64();
    Ok(SocketCost { bytes: after.saturating_sub(before) / u64::try_from(SOCKETS)?, connects_per_second })
}
