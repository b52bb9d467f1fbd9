//! Checks of the HTTP listener: who uses a port, and whether a server is ready.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use guildhall_protocol::rest::ops::health::LiveView;
use guildhall_sdk::Client;

use super::check::CheckResult;
use super::problem::Problem;
use crate::server_client::client;

/// `serviceId` of a Guildhall server.
const SERVICE_ID: &str = "guildhall";

/// A Guildhall server on this machine answers sooner. Another program may never answer.
const LIVE_TIMEOUT: Duration = Duration::from_secs(2);

/// State of an address that a server wants to listen on.
pub(super) enum PortState {
    Free,
    UsedByGuildhall(LiveView),
    UsedByOther,
    Unavailable(std::io::Error),
}

/// Returns the state of an address.
pub(super) async fn probe_port(address: SocketAddr) -> PortState {
    match TcpListener::bind(address) {
        Ok(_) => PortState::Free,
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => match fetch_live(address).await {
            Some(live) => PortState::UsedByGuildhall(live),
            None => PortState::UsedByOther,
        },
        Err(error) => PortState::Unavailable(error),
    }
}

async fn fetch_live(address: SocketAddr) -> Option<LiveView> {
    let target = match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        _ => address,
    };
    let client = Client::new(&format!("http://{target}")).ok()?;
    let live = tokio::time::timeout(LIVE_TIMEOUT, client.live()).await.ok()?.ok()?;
    (live.service_id == SERVICE_ID).then_some(live)
}

/// Checks that a running server is ready.
pub(super) async fn check_readiness(url: &str) -> CheckResult {
    let fix = format!("curl -s {}/health/readiness", url.trim_end_matches('/'));
    let problem = |error: &dyn std::fmt::Display| Problem::new(error.to_string(), fix.clone());
    let client = client(url).map_err(|error| problem(&error))?;
    let live = client.live().await.map_err(|error| problem(&error))?;
    let readiness = client.readiness().await.map_err(|error| problem(&error))?;
    let version = live.build.version;
    if readiness.status == "ready" {
        return Ok(format!("Guildhall {version} at {url} is ready"));
    }
    let reasons =
        readiness.details.map(|details| format!(": {}", details.reasons.join("; "))).unwrap_or_default();
    Err(Problem::new(format!("Guildhall {version} at {url} is {}{reasons}", readiness.status), fix))
}
