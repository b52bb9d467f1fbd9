//! The address of a client, directly or behind trusted proxies.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// Entries of `X-Forwarded-For` that are read, from the right. A chain of proxies is much shorter.
const MAX_ENTRIES: usize = 32;

/// The networks of proxies whose `X-Forwarded-For` is trusted. Empty: none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Returns the address of the client of a request. `forwarded_for` are the values of its `X-Forwarded-For` headers,
    /// in their order.
    ///
    /// Each proxy appends the address of its own peer. The list is therefore read from the right: an address is
    /// believed if the one that added it is a trusted proxy. The client is the first address that is not a trusted
    /// proxy. An entry that is not an address ends the search: the proxy that added it counts as the client.
    #[must_use]
    pub fn client_address<'a, I>(&self, peer: IpAddr, forwarded_for: I) -> IpAddr
    where
        I: IntoIterator<Item = &'a str, IntoIter: DoubleEndedIterator>,
    {
        let mut client = peer.to_canonical();
        let entries = forwarded_for.into_iter().rev().flat_map(|value| value.rsplit(','));
        for entry in entries.take(MAX_ENTRIES) {
            if !self.contains(client) {
                break;
            }
            let Some(address) = parse_entry(entry.trim()) else { break };
            client = address;
        }
        client
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Parses an address, which some proxies write with its port.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    let bracketed = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = bracketed.unwrap_or(entry).parse().ok();
    let address = address.or_else(|| entry.parse().ok().map(|with_port: SocketAddr| with_port.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trusted(networks: &[&str]) -> TrustedProxies {
        TrustedProxies::new(networks.iter().map(|network| network.parse().expect(network)).collect())
    }

    fn client(networks: &[&str], peer: &str, forwarded_for: &[&str]) -> String {
        let peer = peer.parse().expect(peer);
        trusted(networks).client_address(peer, forwarded_for.iter().copied()).to_string()
    }

    #[test]
    fn header_of_an_untrusted_peer_is_ignored() {
        assert_eq!(client(&[], "192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
    }

    #[test]
    fn rightmost_untrusted_address_is_the_client() {
        let networks = ["10.0.0.0/8", "2001:db8:1::/48"];
        for (forwarded_for, expected) in [
            (&["203.0.113.9"][..], "203.0.113.9"),
            (&["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            (&["1.1.1.1, 203.0.113.9, 10.0.0.2"], "203.0.113.9"),
            (&["1.1.1.1", "203.0.113.9,10.0.0.2"], "203.0.113.9"),
            (&["203.0.113.9", "2001:db8:1::7"], "203.0.113.9"),
            (&["203.0.113.9:4711"], "203.0.113.9"),
            (&["[2001:db8:2::1]:4711"], "2001:db8:2::1"),
            (&["[2001:db8:2::1]"], "2001:db8:2::1"),
            (&["::ffff:203.0.113.9"], "203.0.113.9"),
            (&[], "10.0.0.1"),
            (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ] {
            assert_eq!(client(&networks, "10.0.0.1", forwarded_for), expected, "{forwarded_for:?}");
        }
        assert_eq!(client(&networks, "::ffff:10.0.0.1", &["203.0.113.9"]), "203.0.113.9");
    }

    #[test]
    fn entry_that_is_no_address_ends_the_search() {
        for forwarded_for in ["", "unknown", "1.1.1.1, ", "1.1.1.1, _hidden", "1.1.1.1, 300.1.1.1"] {
            assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &[forwarded_for]), "10.0.0.1", "{forwarded_for}");
        }
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &["1.1.1.1, unknown, 10.0.0.2"]), "10.0.0.2");
    }

    fn address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<[u8; 4]>().prop_map(IpAddr::from),
            any::<[u8; 3]>().prop_map(|[a, b, c]| IpAddr::from([10, a, b, c])),
            any::<[u8; 16]>().prop_map(IpAddr::from),
        ]
    }

    proptest! {
        /// What a client sends stands left of what the first trusted proxy appends.
        #[test]
        fn text_sent_by_the_client_does_not_change_its_address(
            forged in proptest::collection::vec(".{0,40}", 0..4),
            client in address(),
            proxies in proptest::collection::vec(any::<[u8; 3]>(), 1..5),
        ) {
            let networks = trusted(&["10.0.0.0/8"]);
            prop_assume!(!networks.contains(client.to_canonical()));
            let proxies: Vec<IpAddr> = proxies.iter().map(|[a, b, c]| IpAddr::from([10, *a, *b, *c])).collect();
            let (peer, inner) = proxies.split_last().expect("not empty");
            let appended: Vec<String> = std::iter::once(&client).chain(inner).map(ToString::to_string).collect();
            let mut values: Vec<&str> = forged.iter().map(String::as_str).collect();
            values.extend(appended.iter().map(String::as_str));
            prop_assert_eq!(networks.client_address(*peer, values.iter().copied()), client.to_canonical());
            // Proxies may join the header lines.
            let joined = values.join(", ");
            prop_assert_eq!(networks.client_address(*peer, [joined.as_str()]), client.to_canonical());
        }

        #[test]
        fn untrusted_peer_is_always_the_client(
            peer in address(), values in proptest::collection::vec(".{0,40}", 0..4),
        ) {
            let networks = trusted(&["10.0.0.0/8"]);
            prop_assume!(!networks.contains(peer.to_canonical()));
            let values = values.iter().map(String::as_str);
            prop_assert_eq!(networks.client_address(peer, values), peer.to_canonical());
        }
    }
}
