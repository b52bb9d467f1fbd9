//! Who answers at an address.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use guildhall_protocol::rest::ops::health::LiveView;
use guildhall_sdk::Client;

use super::check::{Finding, Trouble};

/// What a Guildhall calls itself.
const SERVICE: &str = "guildhall";

/// Who has an address that a server shall listen on.
pub(super) enum Listener {
    Free,
    Guildhall(LiveView),
    Other,
    Unusable(std::io::Error),
}

/// Finds out who has an address.
pub(super) async fn listener(address: SocketAddr) -> Listener {
    match TcpListener::bind(address) {
        Ok(_) => Listener::Free,
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => match live(address).await {
            Some(live) => Listener::Guildhall(live),
            None => Listener::Other,
        },
        Err(error) => Listener::Unusable(error),
    }
}

async fn live(address: SocketAddr) -> Option<LiveView> {
    let reached = match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        _ => address,
    };
    let client = Client::new(&format!("http://{reached}")).ok()?;
    client.live().await.ok().filter(|live| live.service_id == SERVICE)
}

/// Asks a server that runs whether it is ready.
pub(super) async fn ready(url: &str) -> Finding {
    let fix = format!("curl -s {}/health/readiness", url.trim_end_matches('/'));
    let away = |error: &dyn std::fmt::Display| Trouble::new(error.to_string(), fix.clone());
    let client = Client::new(url).map_err(|error| away(&error))?;
    let live = client.live().await.map_err(|error| away(&error))?;
    let readiness = client.readiness().await.map_err(|error| away(&error))?;
    let version = live.build.version;
    if readiness.status == "ready" {
        return Ok(format!("Guildhall {version} at {url} is ready"));
    }
    let reasons = readiness.reasons.join("; ");
    Err(Trouble::new(format!("Guildhall {version} at {url} is {}: {reasons}", readiness.status), fix))
}
