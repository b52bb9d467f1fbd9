//! May this address be called under these rules? Pure: no socket, no name, no clock.

mod table;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Why an address may not be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    #[error("a loopback address")]
    Loopback,
    #[error("a private address")]
    Private,
    #[error("a link-local address")]
    LinkLocal,
    /// The space between a carrier and its customers, also used inside clouds.
    #[error("a shared carrier address")]
    CarrierShared,
    #[error("a multicast address")]
    Multicast,
    #[error("the broadcast address")]
    Broadcast,
    #[error("an unspecified address")]
    Unspecified,
    #[error("a documentation address")]
    Documentation,
    #[error("a benchmarking address")]
    Benchmarking,
    #[error("a reserved address")]
    Reserved,
    /// Forms that nobody needs and that hide an IPv4 address from who reads them.
    #[error("an IPv4 address inside an IPv6 address")]
    EmbeddedIpv4,
    /// A public address that a cloud answers itself, from inside.
    #[error("an address of the cloud platform")]
    CloudPlatform,
}

/// What may be called beyond the public internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRules {
    pub allow_loopback: bool,
    /// Ranges that an operator opened. An IPv4-mapped address counts as the IPv4 address that it dials; other forms
    /// that hold an IPv4 address are opened by their IPv6 range alone.
    pub allow: Vec<IpNet>,
}

impl AddressRules {
    /// Decides whether an address may be called.
    pub fn judge(&self, address: IpAddr) -> Result<(), Refusal> {
        let address = address.to_canonical();
        let opened = self.allow.iter().any(|range| range.contains(&address));
        if opened || (self.allow_loopback && address.is_loopback()) {
            return Ok(());
        }
        refusal(address).map_or(Ok(()), Err)
    }
}

fn refusal(address: IpAddr) -> Option<Refusal> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<Refusal> {
    table::IPV4.iter().find(|(range, _)| range.contains(&address)).map(|(_, refusal)| *refusal)
}

/// The IPv6 space is judged the other way round: what is not given out as global unicast is refused.
fn refusal_v6(address: Ipv6Addr) -> Option<Refusal> {
    if table::NAT64.contains(&address) {
        return refusal_v4(last_four(address));
    }
    if let Some((_, refusal)) = table::IPV6.iter().find(|(range, _)| range.contains(&address)) {
        return Some(*refusal);
    }
    if !table::GLOBAL_UNICAST.contains(&address) {
        return Some(Refusal::Reserved);
    }
    isatap(address).and_then(refusal_v4)
}

/// Returns the IPv4 address at the end of an ISATAP address (RFC 5214), which may stand under any prefix.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, _, _] = address.segments();
    (matches!(a, 0x0000 | 0x0200) && b == 0x5efe).then(|| last_four(address))
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}
