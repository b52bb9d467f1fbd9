//! Keys of the rate limiter.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::ids::{AgentId, PrincipalId, TenantId};

/// The /64 prefix of an IPv6 address: one host usually controls a whole /64 network.
const IPV6_PREFIX_MASK: u128 = u128::MAX << 64;

/// Who shares a rate limit. All tokens of a principal share one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateKey {
    Principal(PrincipalId),
    /// Created by [`RateKey::from_address`].
    Address(IpAddr),
    /// The keyed tag of a user name, which need not exist.
    Account(u64),
    Tenant(TenantId),
    Agent(AgentId),
}

impl RateKey {
    /// Returns the key of a client address: the address itself, or the /64 network of an IPv6 address.
    #[must_use]
    pub fn from_address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & IPV6_PREFIX_MASK)),
        })
    }
}

impl fmt::Display for RateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(principal) => principal.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::Account(tag) => write!(f, "name-{tag:016x}"),
            Self::Tenant(tenant) => tenant.fmt(f),
            Self::Agent(agent) => agent.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str) -> String {
        RateKey::from_address(address.parse().expect("an address")).to_string()
    }

    #[test]
    fn addresses_of_one_host_share_a_key() {
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7", "IPv4-mapped address of a dual-stack socket");
        assert_eq!(key("2001:db8:1:2:aaaa:bbbb:cccc:dddd"), "2001:db8:1:2::");
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::"), "one network");
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_ne!(key("192.0.2.7"), key("192.0.2.8"));
    }
}
