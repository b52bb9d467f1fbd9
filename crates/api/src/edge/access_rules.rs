//! Which hosts and origins may reach the server.

use axum::http::{HeaderMap, Uri, header};
use guildhall_domain::identity::IssuerName;

use super::issuer_hosts::IssuerHost;

/// Host names of the loopback interface.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The access rules of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessRules {
    pub require_auth: bool,
    /// Host names besides loopback.
    pub hosts: Vec<String>,
    /// Origins besides the server's own.
    pub origins: Vec<String>,
    /// The origin under which browsers know the server, such as `https://guildhall.example.org`.
    pub public_origin: Option<String>,
    /// The issuer of AIDs, whose hosts serve some public routes.
    pub issuer: Option<IssuerName>,
}

/// What a `Host` may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostAccess {
    /// All routes.
    Full,
    /// The public routes of a host of the issuer.
    Issuer(IssuerHost),
    Denied,
}

impl AccessRules {
    /// Returns what a `Host` may be used for.
    pub(crate) fn host_access(&self, host: &str) -> HostAccess {
        let name = host_name(host).to_ascii_lowercase();
        if LOOPBACK.contains(&name.as_str())
            || self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(&name))
        {
            return HostAccess::Full;
        }
        let issuer_host = self.issuer.as_ref().and_then(|issuer| IssuerHost::find(issuer, &name));
        issuer_host.map_or(HostAccess::Denied, HostAccess::Issuer)
    }

    /// Returns whether an `Origin` may call the server, reached as `host`. The hosts of the issuer serve no pages, so
    /// none of them is an origin of its own.
    #[must_use]
    pub fn allows_origin(&self, origin: &str, host: &str) -> bool {
        (self.host_access(host) == HostAccess::Full && self.is_own_origin(origin, host))
            || self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// Returns whether an `Origin` is that of the server itself, reached as `host`. Under the public host name the
    /// scheme must match too: an `http` page there may be forged.
    #[must_use]
    pub fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let named = |origin: &str| host_in(origin).is_some_and(|own| own.eq_ignore_ascii_case(host));
        match &self.public_origin {
            Some(public) if named(public) => origin.eq_ignore_ascii_case(public),
            Some(_) | None => named(origin),
        }
    }
}

/// Returns the host of a request: from its target (HTTP/2) or its `Host` header (HTTP/1).
pub(crate) fn host_of(uri: &Uri, headers: &HeaderMap) -> String {
    let target = uri.authority().map(ToString::to_string);
    let named = headers.get(header::HOST).map(|host| host.to_str().unwrap_or("[not text]").to_owned());
    target.or(named).unwrap_or_default()
}

fn host_in(origin: &str) -> Option<&str> {
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

/// The longest DNS name and a port.
const MAX_HOST_LENGTH: usize = 260;

/// Returns a host for the audit log: a name or address and a port, without user information. Anything else may be a
/// secret and is replaced.
#[must_use]
pub(crate) fn loggable_host(host: &str) -> String {
    let host = host.rsplit('@').next().unwrap_or_default();
    let good = |b: u8| b.is_ascii_alphanumeric() || b".-:[]".contains(&b);
    let is_host = (1..=MAX_HOST_LENGTH).contains(&host.len()) && host.bytes().all(good);
    if is_host { host.to_owned() } else { "[not a host]".to_owned() }
}

/// Returns an origin for the audit log.
#[must_use]
pub(crate) fn loggable_origin(origin: &str) -> String {
    match origin.split_once("://") {
        Some((scheme @ ("http" | "https"), host)) => format!("{scheme}://{}", loggable_host(host)),
        Some(_) | None if origin == "null" => origin.to_owned(),
        Some(_) | None => "[not an origin]".to_owned(),
    }
}

/// Returns a host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        Some(_) | None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> AccessRules {
        AccessRules {
            require_auth: false,
            hosts: vec!["guildhall.example.org".to_owned()],
            origins: vec!["https://console.example.org".to_owned()],
            public_origin: Some("https://guildhall.example.org".to_owned()),
            issuer: Some("guild.example".parse().expect("a name")),
        }
    }

    #[test]
    fn only_allowed_hosts_are_accepted_on_any_port() {
        for host in [
            "localhost:7117",
            "127.0.0.1",
            "[::1]:7117",
            "Guildhall.Example.org:443",
            "guildhall.example.org",
        ] {
            assert_eq!(access().host_access(host), HostAccess::Full, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:7117",
            "",
            ":7117",
            "::1",
            "guildhall.example.org.",
            "a.b.guild.example",
            "alice.guild.example.evil.example",
        ] {
            assert_eq!(access().host_access(host), HostAccess::Denied, "{host}");
        }
    }

    #[test]
    fn hosts_of_the_issuer_are_narrow_unless_they_are_configured() {
        let narrow = HostAccess::Issuer(IssuerHost::Gateway);
        assert_eq!(access().host_access("alice.guild.example:7443"), narrow);
        let configured = AccessRules { hosts: vec!["gateway.guild.example".to_owned()], ..access() };
        assert_eq!(configured.host_access("gateway.guild.example"), HostAccess::Full);
        assert_eq!(configured.host_access("guild.example"), narrow);
        assert_eq!(AccessRules { issuer: None, ..access() }.host_access("guild.example"), HostAccess::Denied);
    }

    #[test]
    fn hosts_of_the_issuer_have_no_origin_of_their_own() {
        let host = "alice.guild.example";
        for origin in
            ["https://alice.guild.example", "http://alice.guild.example", "https://guildhall.example.org"]
        {
            assert!(!access().allows_origin(origin, host), "{origin}");
        }
        assert!(access().allows_origin("https://console.example.org", host));
    }

    #[test]
    fn loggable_host_and_origin_contain_no_secret() {
        let hosts = [
            "evil.example:7117",
            "[::1]:80",
            "me:hunter2@evil.example",
            "evil.example/hunter2",
            "hunter2 ",
            "",
        ];
        let logged = hosts.map(loggable_host);
        assert_eq!(
            logged.each_ref().map(String::as_str),
            ["evil.example:7117", "[::1]:80", "evil.example", "[not a host]", "[not a host]", "[not a host]"]
        );
        assert_eq!(loggable_host(&"n".repeat(MAX_HOST_LENGTH + 1)), "[not a host]");
        let origins = [
            "https://evil.example",
            "https://me:hunter2@evil.example",
            "null",
            "hunter2",
            "javascript://hunter2",
        ];
        assert_eq!(
            origins.map(loggable_origin).each_ref().map(String::as_str),
            ["https://evil.example", "https://evil.example", "null", "[not an origin]", "[not an origin]"]
        );
    }

    #[test]
    fn only_own_and_configured_origins_are_allowed() {
        let host = "127.0.0.1:7117";
        assert!(access().allows_origin("http://127.0.0.1:7117", host));
        assert!(access().allows_origin("https://console.example.org", host));
        for origin in [
            "http://127.0.0.1:8080",
            "https://console.example.org.evil.example",
            "null",
            "",
            "https://evil.example",
        ] {
            assert!(!access().allows_origin(origin, host), "{origin}");
        }
    }

    #[test]
    fn public_host_has_exactly_one_own_origin() {
        let public = "guildhall.example.org";
        assert!(access().is_own_origin("https://guildhall.example.org", public));
        for origin in ["http://guildhall.example.org", "https://console.example.org", "null", ""] {
            assert!(!access().is_own_origin(origin, public), "{origin}");
        }
        assert!(access().is_own_origin("http://127.0.0.1:7117", "127.0.0.1:7117"), "loopback");
        assert!(!access().is_own_origin("https://guildhall.example.org", "127.0.0.1:7117"));
    }
}
