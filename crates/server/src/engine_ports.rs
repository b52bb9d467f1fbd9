//! Finds the local ports of PostgreSQL and NATS, so that agents can be denied access to them.

use std::net::IpAddr;

use secrecy::ExposeSecret;
use url::Url;

use crate::Config;

const DEFAULT_POSTGRES_PORT: u16 = 5432;
const DEFAULT_NATS_PORT: u16 = 4222;

/// Returns the ports of PostgreSQL and NATS, where they run on this machine. Ports are blocked for all hosts, so the
/// port of an engine on another host is left open: other services may use the same number.
pub(crate) fn local_engine_ports(config: &Config) -> Vec<u16> {
    let postgres = local_port(config.postgres.url.expose_secret(), DEFAULT_POSTGRES_PORT);
    let nats = config.nats.url.expose_secret().split(',');
    let nats = nats.filter_map(|url| local_port(url.trim(), DEFAULT_NATS_PORT));
    postgres.into_iter().chain(nats).collect()
}

fn local_port(url: &str, default: u16) -> Option<u16> {
    let url = Url::parse(url).ok()?;
    // In a PostgreSQL URL, host and port in the query win over those of the authority.
    let parameter =
        |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let host =
        parameter("hostaddr").or_else(|| parameter("host")).or_else(|| url.host_str().map(str::to_owned));
    let host = host.unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_local_ip = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    // No host means this machine. So does a socket folder; the server listens on its TCP port as well.
    let is_local = host.is_empty()
        || host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(is_local_ip);
    let port = parameter("port").and_then(|port| port.parse().ok());
    is_local.then(|| port.or(url.port()).unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_port_is_returned_for_local_hosts_only() {
        for (url, expected) in [
            ("postgres://guildhall:secret@127.0.0.1:6001/guildhall", Some(6001)),
            ("postgres://localhost/guildhall", Some(DEFAULT_POSTGRES_PORT)),
            ("postgres://[::1]:6002/guildhall", Some(6002)),
            ("postgres://db.example/guildhall?host=127.0.0.1&port=6003", Some(6003)),
            ("postgres:///guildhall?host=/run/postgresql", Some(DEFAULT_POSTGRES_PORT)),
            ("postgres://db.example:6004/guildhall", None),
            ("postgres://10.0.0.4/guildhall", None),
        ] {
            assert_eq!(local_port(url, DEFAULT_POSTGRES_PORT), expected, "{url}");
        }
        assert_eq!(local_port("nats://token@127.0.0.1", DEFAULT_NATS_PORT), Some(DEFAULT_NATS_PORT));
    }
}
