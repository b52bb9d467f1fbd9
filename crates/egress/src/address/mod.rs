//! Decides whether an address may be called. Pure: no socket, no name, no clock.

mod blocked;
mod name;
mod table;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

pub use blocked::BlockedAddress;

/// Addresses that may be called besides the public internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRules {
    pub allow_loopback: bool,
    /// Ranges that an operator allowed. An IPv4-mapped address counts as its IPv4 address; other formats that embed an
    /// IPv4 address must be allowed by their IPv6 range.
    pub allow: Vec<IpNet>,
}

impl AddressRules {
    /// Checks whether an address may be called.
    pub fn check(&self, address: IpAddr) -> Result<(), BlockedAddress> {
        let address = address.to_canonical();
        let is_allowed = self.allow.iter().any(|range| range.contains(&address));
        if is_allowed || (self.allow_loopback && address.is_loopback()) {
            return Ok(());
        }
        blocked(address).map_or(Ok(()), Err)
    }
}

fn blocked(address: IpAddr) -> Option<BlockedAddress> {
    match address {
        IpAddr::V4(address) => blocked_v4(address),
        IpAddr::V6(address) => blocked_v6(address),
    }
}

fn blocked_v4(address: Ipv4Addr) -> Option<BlockedAddress> {
    table::IPV4.iter().find(|(range, _)| range.contains(&address)).map(|(_, kind)| *kind)
}

/// For IPv6 the logic is reversed: everything outside the assigned global unicast space is blocked.
fn blocked_v6(address: Ipv6Addr) -> Option<BlockedAddress> {
    if table::NAT64.contains(&address) {
        return blocked_v4(embedded_v4(address));
    }
    if let Some((_, kind)) = table::IPV6.iter().find(|(range, _)| range.contains(&address)) {
        return Some(*kind);
    }
    if !table::GLOBAL_UNICAST.contains(&address) {
        return Some(BlockedAddress::Reserved);
    }
    isatap(address).and_then(blocked_v4)
}

/// Returns the IPv4 address of an ISATAP address (RFC 5214), which may have any prefix.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, _, _] = address.segments();
    (matches!(a, 0x0000 | 0x0200) && b == 0x5efe).then(|| embedded_v4(address))
}

fn embedded_v4(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}
