//! Which other hosts an agent may reach.

use std::str::FromStr;

use hyper::http::uri::Authority;
use url::Host;

/// Ports of a pattern that names none: HTTPS and HTTP.
const DEFAULT_PORTS: [u16; 2] = [443, 80];

/// The port of a pattern that names none, for SSH.
const DEFAULT_SSH_PORTS: [u16; 1] = [22];

/// The hosts that an agent may reach besides its model provider. Address rules hold in addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRules {
    None,
    AllowList(Vec<HostPattern>),
    /// Every host with public addresses, on every port.
    Public,
}

impl HostRules {
    pub(super) fn allows(&self, target: &HostTarget) -> bool {
        match self {
            Self::None => false,
            Self::AllowList(patterns) => {
                patterns.iter().any(|pattern| pattern.matches(target, &DEFAULT_PORTS))
            }
            Self::Public => true,
        }
    }
}

/// A host of an allow-list: `example.com`, `*.example.com` (subdomains only) or `example.com:8443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: PatternHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternHost {
    Exact(Host<String>),
    /// Subdomains of this name, at any depth.
    SubdomainsOf(String),
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid host pattern: expected `example.com`, `*.example.com` or `example.com:8443`")]
pub struct HostPatternError;

impl HostPattern {
    /// Returns whether this pattern matches everything that another one matches.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let is_below = |name: &str, parent: &str| {
            name.strip_suffix(parent).is_some_and(|prefix| prefix.len() > 1 && prefix.ends_with('.'))
        };
        let port_matches = match (self.port, other.port) {
            (None, Some(port)) => DEFAULT_PORTS.contains(&port),
            (port, other) => port == other,
        };
        port_matches
            && match (&self.host, &other.host) {
                (PatternHost::Exact(host), PatternHost::Exact(other)) => host == other,
                (PatternHost::SubdomainsOf(parent), PatternHost::Exact(Host::Domain(name))) => {
                    is_below(name, parent)
                }
                (PatternHost::SubdomainsOf(parent), PatternHost::SubdomainsOf(other)) => {
                    parent == other || is_below(other, parent)
                }
                (PatternHost::SubdomainsOf(_), PatternHost::Exact(Host::Ipv4(_) | Host::Ipv6(_)))
                | (PatternHost::Exact(_), PatternHost::SubdomainsOf(_)) => false,
            }
    }

    /// Returns whether this pattern matches a host and a port.
    #[must_use]
    pub fn allows(&self, host: &Host<String>, port: u16) -> bool {
        self.matches(&HostTarget { host: host.clone(), port }, &DEFAULT_PORTS)
    }

    /// Returns whether this pattern matches an SSH server. A pattern without a port means that of SSH.
    #[must_use]
    pub fn allows_ssh(&self, host: &Host<String>, port: u16) -> bool {
        self.matches(&HostTarget { host: host.clone(), port }, &DEFAULT_SSH_PORTS)
    }

    fn matches(&self, target: &HostTarget, default_ports: &[u16]) -> bool {
        let port_matches = self.port.map_or(default_ports.contains(&target.port), |port| port == target.port);
        port_matches
            && match (&self.host, &target.host) {
                (PatternHost::Exact(host), target) => host == target,
                (PatternHost::SubdomainsOf(parent), Host::Domain(name)) => {
                    let prefix = name.strip_suffix(parent).and_then(|prefix| prefix.strip_suffix('.'));
                    prefix.is_some_and(|prefix| !prefix.is_empty())
                }
                (PatternHost::SubdomainsOf(_), Host::Ipv4(_) | Host::Ipv6(_)) => false,
            }
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        let (host, port) = split_port(text)?;
        let Some(parent) = host.strip_prefix("*.") else {
            return Ok(Self { host: PatternHost::Exact(parse_host(host).ok_or(HostPatternError)?), port });
        };
        match parse_host(parent) {
            Some(Host::Domain(parent)) => Ok(Self { host: PatternHost::SubdomainsOf(parent), port }),
            Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => Err(HostPatternError),
        }
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), HostPatternError> {
    match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => {
            let port = port.parse().ok().filter(|port| *port > 0).ok_or(HostPatternError)?;
            Ok((host, Some(port)))
        }
        Some(_) | None => Ok((text, None)),
    }
}

/// The host and port that an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostTarget {
    pub(super) host: Host<String>,
    pub(super) port: u16,
}

impl HostTarget {
    /// Parses an authority without a user name. All notations of an address become one.
    pub(super) fn parse(authority: &Authority, default_port: Option<u16>) -> Option<Self> {
        if authority.as_str().contains('@') {
            return None;
        }
        let has_port = authority.as_str().len() > authority.host().len();
        let port = if has_port { authority.port_u16() } else { default_port };
        Some(Self { host: parse_host(authority.host())?, port: port.filter(|port| *port > 0)? })
    }
}

/// Parses a host in the same way for patterns and targets. The dot at the end of a full name is dropped.
fn parse_host(text: &str) -> Option<Host<String>> {
    match Host::parse(text).ok()? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            let is_valid = !name.is_empty() && name.split('.').all(|label| !label.is_empty());
            (is_valid && name.bytes().all(is_name)).then(|| Host::Domain(name.to_owned()))
        }
        address @ (Host::Ipv4(_) | Host::Ipv6(_)) => Some(address),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target(text: &str) -> Option<HostTarget> {
        HostTarget::parse(&text.parse().ok()?, None)
    }

    fn allows(pattern: &str, requested: &str) -> bool {
        let rules = HostRules::AllowList(vec![pattern.parse().expect("a pattern")]);
        target(requested).is_some_and(|target| rules.allows(&target))
    }

    #[test]
    fn exact_pattern_matches_its_host_on_web_ports() {
        for requested in ["example.com:443", "EXAMPLE.com:80", "example.com.:443"] {
            assert!(allows("example.com", requested), "{requested}");
        }
        for requested in [
            "example.com:22",
            "example.com:8443",
            "www.example.com:443",
            "example.com.evil.org:443",
            "notexample.com:443",
            "example.com",
            "example.com:",
            "example.com:0",
            "example.com@evil.org:443",
            "evil.org@example.com:443",
        ] {
            assert!(!allows("example.com", requested), "{requested}");
        }
    }

    proptest! {
        #[test]
        fn covering_pattern_matches_what_the_covered_one_matches(
            texts in prop::array::uniform3((
                prop::sample::select(vec!["", "*."]),
                prop::sample::select(vec!["example.com", "a.example.com", "b.a.example.com", "ample.com", "192.0.2.1"]),
                prop::sample::select(vec!["", ":443", ":80", ":8443"]),
            )),
        ) {
            let [wide, narrow, requested] = texts.map(|(wildcard, host, port)| format!("{wildcard}{host}{port}"));
            let requested = requested.trim_start_matches("*.");
            let requested = if requested.contains(':') { requested.to_owned() } else { format!("{requested}:443") };
            let patterns = [&wide, &narrow].map(|text| text.parse::<HostPattern>());
            if let [Ok(wide_pattern), Ok(narrow_pattern)] = patterns
                && wide_pattern.covers(&narrow_pattern)
            {
                prop_assert!(!allows(&narrow, &requested) || allows(&wide, &requested), "{wide} {narrow} {requested}");
            }
        }
    }

    #[test]
    fn wildcard_covers_hosts_below_it_and_no_others() {
        let covers = |wide: &str, narrow: &str| {
            let parse = |text: &str| text.parse::<HostPattern>().expect("a pattern");
            parse(wide).covers(&parse(narrow))
        };
        for narrow in ["a.example.com", "*.example.com", "*.a.example.com", "a.example.com:443"] {
            assert!(covers("*.example.com", narrow), "{narrow}");
        }
        for narrow in ["example.com", "*.com", "notexample.com", "a.example.com:22", "192.0.2.1"] {
            assert!(!covers("*.example.com", narrow), "{narrow}");
        }
        assert!(!covers("example.com:443", "example.com"), "a port covers no other port");
    }

    #[test]
    fn wildcard_matches_subdomains_only() {
        for requested in ["a.example.com:443", "a.b.Example.com:80"] {
            assert!(allows("*.example.com", requested), "{requested}");
        }
        for requested in [
            "example.com:443",
            ".example.com:443",
            "aexample.com:443",
            "a.example.com.evil.org:443",
            "a.example.org:443",
            "1.2.3.4:443",
        ] {
            assert!(!allows("*.example.com", requested), "{requested}");
        }
    }

    #[test]
    fn pattern_with_a_port_matches_only_that_port() {
        assert!(allows("git.example.com:22", "git.example.com:22"));
        assert!(!allows("git.example.com:22", "git.example.com:443"));
        assert!(allows("[2606:4700::1111]:443", "[2606:4700:0::1111]:443"));
    }

    #[test]
    fn pattern_without_a_port_means_port_22_for_ssh() {
        let pattern: HostPattern = "git.example.com".parse().expect("a pattern");
        let host = Host::Domain("git.example.com".to_owned());
        assert_eq!([22, 443, 2222].map(|port| pattern.allows_ssh(&host, port)), [true, false, false]);
        let pattern: HostPattern = "git.example.com:2222".parse().expect("a pattern");
        assert_eq!([22, 443, 2222].map(|port| pattern.allows_ssh(&host, port)), [false, false, true]);
    }

    #[test]
    fn notations_of_an_address_are_one_target() {
        let expected = target("127.0.0.1:443");
        for text in ["2130706433:443", "0x7f.1:443", "0177.0.0.1:443", "127.1:443"] {
            assert_eq!(target(text), expected, "{text}");
        }
        assert!(expected.is_some());
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        for text in [
            "",
            "*",
            "*.",
            "*.*.com",
            "a.*.com",
            "*a.com",
            "a..com",
            "*.1.2.3.4",
            "a.com:",
            "a.com:0",
            "a.com:x",
            "a.com:70000",
            "a b",
            "https://a.com",
            "a.com/x",
            "[::1",
        ] {
            assert_eq!(text.parse::<HostPattern>(), Err(HostPatternError), "{text}");
        }
    }

    #[test]
    fn no_rule_allows_nothing_and_public_allows_every_name() {
        let target = target("example.com:22").expect("a target");
        assert!(!HostRules::None.allows(&target));
        assert!(!HostRules::AllowList(Vec::new()).allows(&target));
        assert!(HostRules::Public.allows(&target));
    }

    proptest! {
        #[test]
        fn allowed_hosts_end_with_the_pattern(host in r"[a-zA-Z0-9.@:%_*-]{0,12}(example\.com)?[.:@a-z0-9]{0,8}") {
            if allows("*.example.com", &host) {
                let host = host.to_ascii_lowercase();
                let name = host.rsplit_once(':').map_or("", |(name, _)| name);
                prop_assert!(name.trim_end_matches('.').ends_with(".example.com"), "{}", host);
            }
        }
    }
}
