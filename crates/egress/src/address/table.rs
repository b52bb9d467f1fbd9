//! Special-purpose addresses: IANA's IPv4 and IPv6 Special-Purpose Address Registries, interpreted strictly. A range in
//! which only single addresses are global (192.0.0.0/24, 2001::/23) is blocked as a whole.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::blocked::BlockedAddress::{self, *};

/// The first matching row determines why an address is blocked; without a match it is allowed.
pub(super) const IPV4: &[(Ipv4Net, BlockedAddress)] = &[
    (v4([0, 0, 0, 0], 8), Unspecified), // "this network"; Linux treats 0.0.0.0 as loopback
    (v4([10, 0, 0, 0], 8), Private),
    (v4([100, 64, 0, 0], 10), CarrierShared),
    (v4([127, 0, 0, 0], 8), Loopback),
    (v4([168, 63, 129, 16], 32), CloudPlatform), // Azure's host agent
    (v4([169, 254, 0, 0], 16), LinkLocal),       // the metadata service of most clouds
    (v4([172, 16, 0, 0], 12), Private),
    (v4([192, 0, 0, 0], 24), Reserved), // protocol assignments; Oracle's metadata service
    (v4([192, 0, 2, 0], 24), Documentation),
    (v4([192, 88, 99, 0], 24), Reserved), // the relays of 6to4, withdrawn
    (v4([192, 168, 0, 0], 16), Private),
    (v4([198, 18, 0, 0], 15), Benchmarking),
    (v4([198, 51, 100, 0], 24), Documentation),
    (v4([203, 0, 113, 0], 24), Documentation),
    (v4([224, 0, 0, 0], 4), Multicast),
    (v4([255, 255, 255, 255], 32), Broadcast),
    (v4([240, 0, 0, 0], 4), Reserved),
];

/// The assigned global unicast space. Everything outside is blocked.
pub(super) const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// The well-known NAT64 prefix. Machines without IPv4 reach the IPv4 internet through it, so the embedded IPv4 address
/// is checked.
pub(super) const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

/// Exceptions inside global unicast, and specific reasons for ranges outside of it.
pub(super) const IPV6: &[(Ipv6Net, BlockedAddress)] = &[
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), Unspecified),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), Loopback),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), EmbeddedIpv4), // IPv4-compatible
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), EmbeddedIpv4), // IPv4-translated
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), EmbeddedIpv4), // NAT64 for local use
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), EmbeddedIpv4), // Teredo
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), Benchmarking),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), Reserved), // protocol assignments
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), Documentation),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), EmbeddedIpv4), // 6to4
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), Documentation),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), Private), // unique-local
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), LinkLocal),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), Private), // site-local, withdrawn
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), Multicast),
];

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)
}
