//! Tests of the address rules, with examples and with arbitrary addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};
use proptest::prelude::*;
use proptest::sample::select;

use super::{AddressRules, BlockedAddress, table};

/// Ranges that the IANA registries do not list as globally reachable: a second, independent list.
const NOT_GLOBAL: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.170/31",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::ffff:0:0/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001:2::/48",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

fn check(address: &str) -> Result<(), BlockedAddress> {
    AddressRules::default().check(address.parse().expect("an address"))
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().expect("a range")).collect()
}

#[test]
fn each_kind_of_address_is_blocked_with_its_reason() {
    for (address, kind) in [
        ("0.0.0.0", BlockedAddress::Unspecified),
        ("0.1.2.3", BlockedAddress::Unspecified),
        ("127.0.0.1", BlockedAddress::Loopback),
        ("127.255.255.254", BlockedAddress::Loopback),
        ("10.0.0.1", BlockedAddress::Private),
        ("172.31.255.255", BlockedAddress::Private),
        ("192.168.1.1", BlockedAddress::Private),
        ("169.254.169.254", BlockedAddress::LinkLocal),
        ("100.100.100.200", BlockedAddress::CarrierShared),
        ("168.63.129.16", BlockedAddress::CloudPlatform),
        ("192.0.0.192", BlockedAddress::Reserved),
        ("203.0.113.7", BlockedAddress::Documentation),
        ("198.19.255.255", BlockedAddress::Benchmarking),
        ("224.0.0.1", BlockedAddress::Multicast),
        ("240.0.0.1", BlockedAddress::Reserved),
        ("255.255.255.255", BlockedAddress::Broadcast),
        ("::", BlockedAddress::Unspecified),
        ("::1", BlockedAddress::Loopback),
        ("::ffff:127.0.0.1", BlockedAddress::Loopback),
        ("::127.0.0.1", BlockedAddress::EmbeddedIpv4),
        ("::ffff:0:127.0.0.1", BlockedAddress::EmbeddedIpv4),
        ("64:ff9b::127.0.0.1", BlockedAddress::Loopback),
        ("64:ff9b::169.254.169.254", BlockedAddress::LinkLocal),
        ("64:ff9b:1::127.0.0.1", BlockedAddress::EmbeddedIpv4),
        ("2002:7f00:1::", BlockedAddress::EmbeddedIpv4),
        ("2001:0:7f00:1::", BlockedAddress::EmbeddedIpv4),
        ("2a00:1450::5efe:127.0.0.1", BlockedAddress::Loopback),
        ("2a00:1450::200:5efe:10.0.0.1", BlockedAddress::Private),
        ("fd00:ec2::254", BlockedAddress::Private),
        ("fec0::1", BlockedAddress::Private),
        ("fe80::1", BlockedAddress::LinkLocal),
        ("ff02::1", BlockedAddress::Multicast),
        ("2001:db8::1", BlockedAddress::Documentation),
        ("3fff:fff::1", BlockedAddress::Documentation),
        ("2001:2::1", BlockedAddress::Benchmarking),
        ("2001:10::1", BlockedAddress::Reserved),
        ("100::1", BlockedAddress::Reserved),
        ("4000::1", BlockedAddress::Reserved),
    ] {
        assert_eq!(check(address), Err(kind), "{address}");
    }
}

/// The neighbours of each range: a prefix that is one bit too short would block public addresses.
#[test]
fn public_addresses_are_allowed() {
    for address in [
        "1.0.0.0",
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2001:db7:ffff::1",
        "2001:db9::1",
        "2003::1",
        "2606:4700:4700::1111",
        "3ffe::1",
        "3fff:1000::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2a00:1450::5efe:8.8.8.8",
    ] {
        assert_eq!(check(address), Ok(()), "{address}");
    }
}

#[test]
fn both_ends_of_every_range_are_blocked() {
    let v4 = table::IPV4.iter().map(|(range, _)| IpNet::V4(*range));
    let v6 = table::IPV6.iter().map(|(range, _)| IpNet::V6(*range));
    for range in v4.chain(v6).chain(nets(NOT_GLOBAL)) {
        for address in [range.network(), range.broadcast()] {
            let mapped_public = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
            assert!(mapped_public || AddressRules::default().check(address).is_err(), "{address} of {range}");
        }
    }
}

#[test]
fn allow_loopback_allows_only_loopback() {
    let rules = AddressRules { allow_loopback: true, allow: Vec::new() };
    for address in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
        assert_eq!(rules.check(address.parse().expect("an address")), Ok(()), "{address}");
    }
    for address in
        ["0.0.0.0", "::", "10.0.0.1", "169.254.169.254", "::127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::"]
    {
        assert!(rules.check(address.parse().expect("an address")).is_err(), "{address}");
    }
}

#[test]
fn allowed_range_includes_only_ipv4_mapped_embeddings() {
    let rules = AddressRules { allow_loopback: false, allow: nets(&["10.0.0.0/8", "fd12::/16"]) };
    for address in ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1"] {
        assert_eq!(rules.check(address.parse().expect("an address")), Ok(()), "{address}");
    }
    for address in ["64:ff9b::10.1.2.3", "::10.1.2.3", "2002:a01:203::", "fd13::1", "192.168.0.1"] {
        assert!(rules.check(address.parse().expect("an address")).is_err(), "{address}");
    }
}

/// Any address in a special range.
fn special_v4() -> impl Strategy<Value = Ipv4Addr> {
    (select(table::IPV4), any::<u32>()).prop_map(|((range, _), bits)| {
        Ipv4Addr::from(u32::from(range.network()) | (bits & u32::from(range.hostmask())))
    })
}

/// All ways to embed an IPv4 address in an IPv6 address, with arbitrary free bits.
fn embeddings(v4: Ipv4Addr, free_bits: u128) -> Vec<Ipv6Addr> {
    let low = u128::from(u32::from(v4));
    let global = (0b001_u128 << 125) | (free_bits >> 3);
    let prefix64 = global & !u128::from(u64::MAX);
    let nat64_local = 0x0064_ff9b_0001_u128 << 80;
    [
        low,
        (0xffff << 32) | low,
        (0xffff << 48) | low,
        (0x0064_ff9b_u128 << 96) | low,
        nat64_local | low,
        nat64_local | ((low >> 16) << 64) | ((low & 0xffff) << 40),
        (0x2002_u128 << 112) | (low << 80) | (free_bits >> 48),
        (0x2001_u128 << 112) | (low << 64) | (free_bits >> 64),
        (0x2001_u128 << 112) | ((free_bits >> 32) & !0xffff_ffff & (u128::MAX >> 32)) | (low ^ 0xffff_ffff),
        prefix64 | (0x0000_5efe_u128 << 32) | low,
        prefix64 | (0x0200_5efe_u128 << 32) | low,
    ]
    .into_iter()
    .map(Ipv6Addr::from)
    .collect()
}

/// Any address; special and ordinary ones are about equally likely.
fn any_address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<Ipv4Addr>().prop_map(IpAddr::V4),
        special_v4().prop_map(IpAddr::V4),
        any::<Ipv6Addr>().prop_map(IpAddr::V6),
        (select(table::IPV6), any::<u128>()).prop_map(|((range, _), bits)| {
            Ipv6Addr::from(u128::from(range.network()) | (bits & u128::from(range.hostmask()))).into()
        }),
        (any::<Ipv4Addr>(), any::<u128>(), any::<prop::sample::Index>()).prop_map(
            |(v4, free_bits, index)| {
                let all = embeddings(v4, free_bits);
                IpAddr::V6(all[index.index(all.len())])
            }
        ),
    ]
}

fn any_range() -> impl Strategy<Value = IpNet> {
    (any_address(), any::<u8>()).prop_map(|(address, prefix)| {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        IpNet::new(address, prefix % (longest + 1)).expect("the prefix fits").trunc()
    })
}

fn any_rules() -> impl Strategy<Value = AddressRules> {
    (any::<bool>(), prop::collection::vec(any_range(), 0..4))
        .prop_map(|(allow_loopback, allow)| AddressRules { allow_loopback, allow })
}

/// Returns whether an address is global unicast, independently of the table.
fn is_global_unicast(address: IpAddr) -> bool {
    if nets(NOT_GLOBAL).iter().any(|range| range.contains(&address)) || address.is_multicast() {
        return false;
    }
    match address {
        IpAddr::V4(v4) => {
            !(v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_broadcast()
                || v4.is_documentation())
        }
        IpAddr::V6(v6) => {
            let nat64 = v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
            let [.., a, b, c, d] = v6.octets();
            if nat64 {
                return is_global_unicast(Ipv4Addr::new(a, b, c, d).into());
            }
            v6.segments()[0] >> 13 == 1 && !v6.is_unique_local() && !v6.is_unicast_link_local()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn embeddings_of_a_blocked_ipv4_address_are_blocked(v4 in special_v4(), free_bits: u128) {
        let rules = AddressRules::default();
        prop_assert!(rules.check(v4.into()).is_err());
        for embedding in embeddings(v4, free_bits) {
            prop_assert!(rules.check(embedding.into()).is_err(), "{} as {}", v4, embedding);
        }
    }

    #[test]
    fn allowed_ipv4_range_allows_only_the_mapped_embedding(v4 in special_v4(), free_bits: u128, prefix in 0_u8..=32) {
        let range = Ipv4Net::new(v4, prefix).expect("the prefix fits").trunc();
        let rules = AddressRules { allow_loopback: true, allow: vec![range.into()] };
        for embedding in embeddings(v4, free_bits).into_iter().filter(|v6| v6.to_ipv4_mapped().is_none()) {
            // `allow_loopback` allows ::1, which is also an embedding of 0.0.0.1.
            prop_assert!(embedding.is_loopback() || rules.check(embedding.into()).is_err(), "{} as {}", v4, embedding);
        }
    }

    #[test]
    fn allowed_address_is_global_unicast_or_in_an_allowed_range(address in any_address(), rules in any_rules()) {
        let canonical = address.to_canonical();
        let allowed = rules.allow.iter().any(|range| range.contains(&canonical));
        let allowed = allowed || (rules.allow_loopback && canonical.is_loopback());
        if rules.check(address).is_ok() {
            prop_assert!(allowed || is_global_unicast(canonical), "{}", address);
        } else {
            prop_assert!(!allowed, "{} is in an allowed range", address);
        }
    }

    #[test]
    fn allowed_range_has_no_effect_outside_of_it(address in any_address(), rules in any_rules(), more in any_range()) {
        let mut wider = rules.clone();
        wider.allow.push(more);
        if !more.contains(&address.to_canonical()) {
            prop_assert_eq!(rules.check(address), wider.check(address));
        }
    }

    #[test]
    fn mapped_address_is_checked_as_its_ipv4_address(v4: Ipv4Addr, rules in any_rules()) {
        prop_assert_eq!(rules.check(v4.into()), rules.check(v4.to_ipv6_mapped().into()));
    }
}
