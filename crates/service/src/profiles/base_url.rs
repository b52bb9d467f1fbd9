//! Where a provider answers. A runner will send the credential there, from inside somebody's network.

use guildhall_egress::AddressRules;
use std::net::{IpAddr, Ipv4Addr};
use url::{Host, Url};

use super::ProfileRefusal;

/// Checks a base URL: `https`, or `http` to this machine where the operator's configuration opens it; no user, no query;
/// no address that the server itself would not call. A name passes: it is not looked up here, and what it means where
/// the runner is, the runner's network decides.
pub(super) fn check(text: &str, rules: &AddressRules) -> Result<String, ProfileRefusal> {
    let url = Url::parse(text).map_err(|_| ProfileRefusal::BaseUrl)?;
    let is_bare = url.username().is_empty() && url.password().is_none();
    if !is_bare || url.query().is_some() || url.fragment().is_some() {
        return Err(ProfileRefusal::BaseUrl);
    }
    let (literal, is_local) = match url.host() {
        Some(Host::Ipv4(address)) => (Some(IpAddr::V4(address)), address.is_loopback()),
        Some(Host::Ipv6(address)) => (Some(IpAddr::V6(address)), address.to_canonical().is_loopback()),
        Some(Host::Domain(name)) if is_localhost(name) => (Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), true),
        Some(Host::Domain(_)) => (None, false),
        None => return Err(ProfileRefusal::BaseUrl),
    };
    if let Some(address) = literal {
        rules.judge(address).map_err(ProfileRefusal::Address)?;
    }
    match url.scheme() {
        "https" => {}
        "http" if is_local => {}
        _ => return Err(ProfileRefusal::BaseUrl),
    }
    // As the parser writes it: `0x7f.1` was judged as the address that it is, and is kept as that.
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> AddressRules {
        AddressRules { allow_loopback: false, allow: vec!["127.0.0.0/8".parse().expect("a range")] }
    }

    #[test]
    fn a_base_url_is_https_to_a_public_place() {
        let shut = AddressRules::default();
        for (given, kept) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("https://api.example.org/v1/", "https://api.example.org/v1"),
            ("https://8.8.8.8/v1", "https://8.8.8.8/v1"),
        ] {
            assert_eq!(check(given, &shut).expect(given), kept);
        }
    }

    #[test]
    fn this_machine_is_for_those_whose_operator_opened_it() {
        for local in ["http://127.0.0.1:8000/v1", "http://localhost:8000/v1", "http://a.localhost./v1"] {
            assert!(
                matches!(check(local, &AddressRules::default()), Err(ProfileRefusal::Address(_))),
                "{local}"
            );
            assert!(check(local, &open()).is_ok(), "{local}");
        }
        assert_eq!(check("http://2130706433/v1", &open()).expect("the same"), "http://127.0.0.1/v1");
    }

    // covers: R22
    #[test]
    fn what_would_lead_a_credential_astray_is_refused_and_not_repeated() {
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
            "https://[::ffff:10.0.0.1]/hunter2",
            "https://[fd00::1]/hunter2",
            "https://0x7f.1/hunter2",
            "http://100.64.0.1/hunter2",
            "",
        ] {
            for rules in [AddressRules::default(), AddressRules { allow_loopback: false, allow: Vec::new() }]
            {
                let refused = check(bad, &rules).expect_err(bad);
                assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused:?}");
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
            "plain http goes to this machine alone"
        );
    }
}
