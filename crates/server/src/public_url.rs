//! The public address of the server, as browsers use it.

use std::net::SocketAddr;

use guildhall_domain::approvals::policy::ServerAddress;
use url::Url;

/// The path of the socket.
pub(crate) const SOCKET_PATH: &str = "/aun";

/// `http.public_url` is invalid. The message does not repeat it: it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid http.public_url (GUILDHALL_HTTP_PUBLIC_URL): write https:// and the host, without a path; http:// is \
     allowed only for this machine"
)]
pub struct InvalidPublicUrl;

/// An origin: a scheme, a host and a port, without a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicUrl(Url);

impl PublicUrl {
    /// Parses the configured address. The default is the address that the server listens on.
    pub(crate) fn new(configured: &str, listening: SocketAddr) -> Result<Self, InvalidPublicUrl> {
        let listening = format!("http://{listening}");
        let is_configured = !configured.is_empty();
        let url =
            Url::parse(if is_configured { configured } else { &listening }).map_err(|_| InvalidPublicUrl)?;
        let safe_scheme = match url.scheme() {
            "https" => true,
            // Over http, browsers accept `Secure` cookies only from loopback.
            "http" => !is_configured || is_loopback(&url),
            _ => false,
        };
        let no_credentials = url.username().is_empty() && url.password().is_none();
        let no_path = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if safe_scheme && no_credentials && no_path && url.has_host() {
            Ok(Self(url))
        } else {
            Err(InvalidPublicUrl)
        }
    }

    /// Returns the value that browsers send in the `Origin` header.
    pub(crate) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// Returns the URL of the socket below this one.
    pub(crate) fn gateway(&self) -> String {
        let origin = self.origin();
        let socket = origin.strip_prefix("http").unwrap_or(&origin);
        format!("ws{socket}{SOCKET_PATH}")
    }

    /// Returns whether the server is reached from this machine only.
    pub(crate) fn address(&self) -> ServerAddress {
        if is_loopback(&self.0) { ServerAddress::Loopback } else { ServerAddress::Public }
    }

    /// Returns the host name. None for an unspecified address such as `0.0.0.0`: clients cannot use it as a name.
    pub(crate) fn host(&self) -> Option<String> {
        let host = self.0.host_str().filter(|host| !["0.0.0.0", "[::]"].contains(host));
        host.map(str::to_owned)
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(configured: &str) -> Result<String, InvalidPublicUrl> {
        let listening = "127.0.0.1:7117".parse().expect("an address");
        PublicUrl::new(configured, listening).map(|url| url.origin())
    }

    #[test]
    fn public_url_must_be_an_https_or_loopback_origin() {
        assert_eq!(public("https://guildhall.example.org/").as_deref(), Ok("https://guildhall.example.org"));
        assert_eq!(
            public("https://guildhall.example.org:8443").as_deref(),
            Ok("https://guildhall.example.org:8443")
        );
        assert_eq!(public("http://localhost:7117").as_deref(), Ok("http://localhost:7117"));
        assert_eq!(public("").as_deref(), Ok("http://127.0.0.1:7117"));
        for invalid in [
            "guildhall.example.org",
            "http://guildhall.example.org",
            "https://me:hunter2@guildhall.example.org",
            "https://guildhall.example.org/below",
            "https://guildhall.example.org?x=1",
            "ftp://guildhall.example.org",
        ] {
            assert_eq!(public(invalid), Err(InvalidPublicUrl), "{invalid}");
        }
    }
}
