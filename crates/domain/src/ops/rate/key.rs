//! Whose requests are counted together.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::ids::PrincipalId;

/// The first 64 bits of an IPv6 address: whoever has one address of such a network has them all.
const NETWORK: u128 = u128::MAX << 64;

/// Who is counted. All tokens of a principal share its permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    Principal(PrincipalId),
    /// Made by [`Key::of_address`].
    Address(IpAddr),
}

impl Key {
    /// Returns the key of those who ask from an address: itself, or the network that comes with an IPv6 address.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(principal) => principal.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str) -> String {
        Key::of_address(address.parse().expect("an address")).to_string()
    }

    #[test]
    fn the_addresses_of_one_host_are_one_key() {
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7", "the same host over a socket for both families");
        assert_eq!(key("2001:db8:1:2:aaaa:bbbb:cccc:dddd"), "2001:db8:1:2::");
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::"), "one network");
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_ne!(key("192.0.2.7"), key("192.0.2.8"));
    }
}
