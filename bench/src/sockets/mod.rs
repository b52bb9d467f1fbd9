//! Memory of the server for each idle authenticated socket, with and without TLS, and what unauthenticated sockets can take.
//!
//! The server runs in a process of its own. Each measurement has a server of its own, so that what one leaves in the
//! allocator does not hide what another one takes.

mod half_open;
mod idle;

use anyhow::Result;

use crate::aun::Transport;
use crate::installation::client;

pub(crate) fn run() -> Result<()> {
    // Installs the provider of TLS, too.
    client()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let flood = half_open::measure().await?;
        let tls = idle::measure(Transport::Tls).await?;
        let plain = idle::measure(Transport::Plain).await?;
        println!("half_open_accepted={}", flood.most_accepted);
        println!("half_open_growth_bytes={}", flood.growth);
        println!("tls_socket_connects_per_second={:.0}", tls.connects_per_second);
        println!("socket_connects_per_second={:.0}", plain.connects_per_second);
        println!("tls_socket_bytes={}", tls.bytes);
        println!("socket_bytes={}", plain.bytes);
        Ok(())
    })
}
