//! Validation of a provider's base URL. A runner sends the credential there, from inside its own network.

use guildhall_egress::AddressRules;
use std::net::{IpAddr, Ipv4Addr};
use url::{Host, Url};

use super::error::ProfileError;

/// Validates a base URL and returns its normal form. It must be `https`, or `http` to a loopback address that the
/// operator allowed; it has no user, query or fragment, and no IP address or metadata name that the egress rules forbid.
/// Host names are not resolved: they can mean something else in the runner's network.
pub(super) fn check(text: &str, rules: &AddressRules) -> Result<String, ProfileError> {
    let url = Url::parse(text).map_err(|_| ProfileError::BaseUrl)?;
    let has_no_user = url.username().is_empty() && url.password().is_none();
    if !has_no_user || url.query().is_some() || url.fragment().is_some() {
        return Err(ProfileError::BaseUrl);
    }
    let (literal, is_local) = match url.host() {
        Some(Host::Ipv4(address)) => (Some(IpAddr::V4(address)), address.is_loopback()),
        Some(Host::Ipv6(address)) => (Some(IpAddr::V6(address)), address.to_canonical().is_loopback()),
        Some(Host::Domain(name)) if is_localhost(name) => (Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), true),
        Some(Host::Domain(name)) => {
            rules.check_name(name).map_err(ProfileError::Address)?;
            (None, false)
        }
        None => return Err(ProfileError::BaseUrl),
    };
    if let Some(address) = literal {
        rules.check(address).map_err(ProfileError::Address)?;
    }
    match url.scheme() {
        "https" => {}
        "http" if is_local => {}
        _ => return Err(ProfileError::BaseUrl),
    }
    // Store the normal form that was checked: `0x7f.1` becomes `127.0.0.1`.
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback_allowed() -> AddressRules {
        AddressRules { allow_loopback: false, allow: vec!["127.0.0.0/8".parse().expect("a range")] }
    }

    #[test]
    fn https_to_a_public_host_is_accepted() {
        let rules = AddressRules::default();
        for (given, normalized) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("https://api.example.org/v1/", "https://api.example.org/v1"),
            ("https://8.8.8.8/v1", "https://8.8.8.8/v1"),
        ] {
            assert_eq!(check(given, &rules).expect(given), normalized);
        }
    }

    #[test]
    fn loopback_is_accepted_only_when_allowed() {
        for local in ["http://127.0.0.1:8000/v1", "http://localhost:8000/v1", "http://a.localhost./v1"] {
            assert!(
                matches!(check(local, &AddressRules::default()), Err(ProfileError::Address(_))),
                "{local}"
            );
            assert!(check(local, &loopback_allowed()).is_ok(), "{local}");
        }
        assert_eq!(
            check("http://2130706433/v1", &loopback_allowed()).expect("a loopback address"),
            "http://127.0.0.1/v1"
        );
    }

    // covers: R22
    #[test]
    fn unsafe_base_url_is_rejected_without_echoing_it() {
        for bad in [
            "http://api.example.org/v1",
            "https://me:hunter2@example.org/v1",
            "https://hunter2@example.org/v1",
            "https://example.org/v1?key=hunter2",
            "https://example.org/v1#hunter2",
            "file:///etc/hunter2",
            "ftp://example.org/hunter2",
            "example.org/hunter2",
            "https://10.1.2.3/hunter2",
            "https://169.254.169.254/hunter2",
            "https://metadata.google.internal/hunter2",
            "https://169.254.169.254.nip.io/hunter2",
            "https://[::ffff:10.0.0.1]/hunter2",
            "https://[fd00::1]/hunter2",
            "https://0x7f.1/hunter2",
            "http://100.64.0.1/hunter2",
            "",
        ] {
            for rules in [AddressRules::default(), AddressRules { allow_loopback: false, allow: Vec::new() }]
            {
                let error = check(bad, &rules).expect_err(bad);
                assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
            }
        }
        assert!(
            check(
                "http://10.0.0.1/v1",
                &AddressRules {
                    allow: vec!["10.0.0.0/8".parse().expect("a range")],
                    ..AddressRules::default()
                }
            )
            .is_err(),
            "http is allowed to loopback only"
        );
    }
}
