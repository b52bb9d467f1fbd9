//! Decides whether a host name may be called before it is resolved.

use std::net::{IpAddr, Ipv4Addr};

use super::{AddressRules, BlockedAddress};

/// First labels of the metadata services of clouds, which give credentials to every process of a machine.
const METADATA_LABELS: [&str; 2] = ["metadata", "instance-data"];

impl AddressRules {
    /// Checks a host name that another machine will resolve. Refuses the names of metadata services, and names that
    /// contain a blocked IPv4 address, which public DNS services resolve to that address.
    pub fn check_name(&self, name: &str) -> Result<(), BlockedAddress> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let labels: Vec<&str> = name.split('.').collect();
        if labels.first().is_some_and(|first| METADATA_LABELS.contains(first)) {
            return Err(BlockedAddress::MetadataName);
        }
        let dashed = labels.iter().flat_map(|label| {
            let parts: Vec<&str> = label.split('-').collect();
            embedded_addresses(&parts)
        });
        embedded_addresses(&labels)
            .into_iter()
            .chain(dashed)
            .try_for_each(|address| self.check(IpAddr::V4(address)))
    }
}

/// Returns the IPv4 addresses that four consecutive parts form.
fn embedded_addresses(parts: &[&str]) -> Vec<Ipv4Addr> {
    let parse = |window: &[&str]| window.join(".").parse().ok();
    parts.windows(4).filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metadata_services_are_blocked() {
        for name in [
            "metadata",
            "metadata.google.internal",
            "METADATA.google.internal.",
            "metadata.goog",
            "instance-data",
        ] {
            let checked = AddressRules::default().check_name(name);
            assert_eq!(checked, Err(BlockedAddress::MetadataName), "{name}");
        }
    }

    #[test]
    fn names_with_a_blocked_address_are_blocked() {
        for (name, kind) in [
            ("169.254.169.254.nip.io", BlockedAddress::LinkLocal),
            ("a.10.0.0.1.sslip.io", BlockedAddress::Private),
            ("app-169-254-169-254.sslip.io", BlockedAddress::LinkLocal),
        ] {
            assert_eq!(AddressRules::default().check_name(name), Err(kind), "{name}");
        }
        let allowed =
            AddressRules { allow: vec!["10.0.0.0/8".parse().expect("a range")], ..AddressRules::default() };
        assert_eq!(allowed.check_name("a.10.0.0.1.sslip.io"), Ok(()));
    }

    #[test]
    fn other_names_are_allowed() {
        for name in [
            "api.openai.com",
            "llm.corp.example",
            "v1-2-3.example.org",
            "8.8.8.8.nip.io",
            "my-metadata.example.org",
        ] {
            assert_eq!(AddressRules::default().check_name(name), Ok(()), "{name}");
        }
    }
}
