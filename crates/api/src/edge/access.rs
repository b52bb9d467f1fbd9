//! Which hosts and origins may reach the server. Pure.

use axum::http::{HeaderMap, Uri, header};

/// Names that always mean this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The rules of access, from the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    pub require_auth: bool,
    /// Host names besides loopback.
    pub hosts: Vec<String>,
    /// Origins besides the server's own.
    pub origins: Vec<String>,
    /// The origin under which browsers know the server, such as `https://guildhall.example.org`.
    pub public_origin: Option<String>,
}

impl Access {
    /// Returns whether a request may be for this `Host`.
    #[must_use]
    pub fn allows_host(&self, host: &str) -> bool {
        let name = host_name(host).to_ascii_lowercase();
        LOOPBACK.contains(&name.as_str())
            || self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(&name))
    }

    /// Returns whether a web page of this `Origin` may call a server reached as `host`.
    #[must_use]
    pub fn allows_origin(&self, origin: &str, host: &str) -> bool {
        self.is_own_origin(origin, host)
            || self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// Returns whether an `Origin` is that of the server itself, reached as `host`. Under its public name it is known
    /// by one scheme alone: a page that somebody put onto the unsafe one is not ours.
    #[must_use]
    pub fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let named = |origin: &str| host_in(origin).is_some_and(|own| own.eq_ignore_ascii_case(host));
        match &self.public_origin {
            Some(public) if named(public) => origin.eq_ignore_ascii_case(public),
            Some(_) | None => named(origin),
        }
    }
}

/// Returns the host that a request is for: of its target in HTTP/2, of its header in HTTP/1.
pub(crate) fn host_of(uri: &Uri, headers: &HeaderMap) -> String {
    let target = uri.authority().map(ToString::to_string);
    let named = headers.get(header::HOST).map(|host| host.to_str().unwrap_or("[not text]").to_owned());
    target.or(named).unwrap_or_default()
}

fn host_in(origin: &str) -> Option<&str> {
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

/// The longest host that is written down: the longest name there is, and a port.
const HOST_AT_MOST: usize = 260;

/// Returns a host as it may be written down: a name or number and a port, without what stands before an `@`. Anything
/// else is no host, and may be something that must not be kept.
#[must_use]
pub(crate) fn shown_host(host: &str) -> String {
    let host = host.rsplit('@').next().unwrap_or_default();
    let good = |b: u8| b.is_ascii_alphanumeric() || b".-:[]".contains(&b);
    let is_host = (1..=HOST_AT_MOST).contains(&host.len()) && host.bytes().all(good);
    if is_host { host.to_owned() } else { "[not a host]".to_owned() }
}

/// Returns an origin as it may be written down.
#[must_use]
pub(crate) fn shown_origin(origin: &str) -> String {
    match origin.split_once("://") {
        Some((scheme @ ("http" | "https"), host)) => format!("{scheme}://{}", shown_host(host)),
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

    fn access() -> Access {
        Access {
            require_auth: false,
            hosts: vec!["guildhall.example.org".to_owned()],
            origins: vec!["https://console.example.org".to_owned()],
            public_origin: Some("https://guildhall.example.org".to_owned()),
        }
    }

    #[test]
    fn only_known_hosts_are_served_whatever_the_port() {
        for host in [
            "localhost:7117",
            "127.0.0.1",
            "[::1]:7117",
            "Guildhall.Example.org:443",
            "guildhall.example.org",
        ] {
            assert!(access().allows_host(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:7117",
            "",
            ":7117",
            "::1",
            "guildhall.example.org.",
        ] {
            assert!(!access().allows_host(host), "{host}");
        }
    }

    #[test]
    fn what_is_written_down_of_a_refused_host_is_a_host_alone() {
        let hosts = [
            "evil.example:7117",
            "[::1]:80",
            "me:hunter2@evil.example",
            "evil.example/hunter2",
            "hunter2 ",
            "",
        ];
        let shown = hosts.map(shown_host);
        assert_eq!(
            shown.each_ref().map(String::as_str),
            ["evil.example:7117", "[::1]:80", "evil.example", "[not a host]", "[not a host]", "[not a host]"]
        );
        assert_eq!(shown_host(&"n".repeat(HOST_AT_MOST + 1)), "[not a host]");
        let origins = [
            "https://evil.example",
            "https://me:hunter2@evil.example",
            "null",
            "hunter2",
            "javascript://hunter2",
        ];
        assert_eq!(
            origins.map(shown_origin).each_ref().map(String::as_str),
            ["https://evil.example", "https://evil.example", "null", "[not an origin]", "[not an origin]"]
        );
    }

    #[test]
    fn only_our_own_and_named_origins_may_call() {
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
    fn under_its_public_name_the_server_has_one_origin() {
        let public = "guildhall.example.org";
        assert!(access().is_own_origin("https://guildhall.example.org", public));
        for origin in ["http://guildhall.example.org", "https://console.example.org", "null", ""] {
            assert!(!access().is_own_origin(origin, public), "{origin}");
        }
        assert!(access().is_own_origin("http://127.0.0.1:7117", "127.0.0.1:7117"), "on the machine itself");
        assert!(!access().is_own_origin("https://guildhall.example.org", "127.0.0.1:7117"));
    }
}
