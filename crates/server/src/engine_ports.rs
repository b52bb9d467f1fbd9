//! The ports of the engines on this machine, which no agent has anything to do with.

use std::net::IpAddr;

use secrecy::ExposeSecret;
use url::Url;

use crate::Config;

const POSTGRES: u16 = 5432;
const NATS: u16 = 4222;

/// Returns the ports of PostgreSQL and NATS where they are on this machine. A port is closed wherever it leads: one of an
/// engine elsewhere is left open, because others may have theirs there too.
pub(crate) fn of(config: &Config) -> Vec<u16> {
    let postgres = port(config.postgres.url.expose_secret(), POSTGRES);
    let nats = config.nats.url.expose_secret().split(',').filter_map(|url| port(url.trim(), NATS));
    postgres.into_iter().chain(nats).collect()
}

fn port(url: &str, usual: u16) -> Option<u16> {
    let url = Url::parse(url).ok()?;
    // PostgreSQL's addresses may name both in their query, which then counts.
    let named =
        |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let host = named("hostaddr").or_else(|| named("host")).or_else(|| url.host_str().map(str::to_owned));
    let host = host.unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    // Without a host it is this machine. A folder of a socket is one too; the port is open beside it.
    let here = host.is_empty()
        || host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(is_here);
    let named = named("port").and_then(|port| port.parse().ok());
    here.then(|| named.or(url.port()).unwrap_or(usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_this_machine_are_found_and_those_of_others_left_open() {
        for (url, expected) in [
            ("postgres://guildhall:secret@127.0.0.1:6001/guildhall", Some(6001)),
            ("postgres://localhost/guildhall", Some(POSTGRES)),
            ("postgres://[::1]:6002/guildhall", Some(6002)),
            ("postgres://db.example/guildhall?host=127.0.0.1&port=6003", Some(6003)),
            ("postgres:///guildhall?host=/run/postgresql", Some(POSTGRES)),
            ("postgres://db.example:6004/guildhall", None),
            ("postgres://10.0.0.4/guildhall", None),
        ] {
            assert_eq!(port(url, POSTGRES), expected, "{url}");
        }
        assert_eq!(port("nats://token@127.0.0.1", NATS), Some(NATS));
    }
}
