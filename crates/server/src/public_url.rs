//! The address under which browsers know the server.

use std::net::SocketAddr;

use url::Url;

/// `http.public_url` is not of the wanted form. It is not repeated: it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "http.public_url (GUILDHALL_HTTP_PUBLIC_URL) is not usable: write https:// and the host, nothing behind it; plain \
     http:// is for this machine alone"
)]
pub struct InvalidPublicUrl;

/// An origin: a scheme, a host and a port, without a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicUrl(Url);

impl PublicUrl {
    /// Reads the configured address; without one it is where the server listens.
    pub(crate) fn new(configured: &str, listening: SocketAddr) -> Result<Self, InvalidPublicUrl> {
        let listening = format!("http://{listening}");
        let is_configured = !configured.is_empty();
        let url =
            Url::parse(if is_configured { configured } else { &listening }).map_err(|_| InvalidPublicUrl)?;
        let safe = match url.scheme() {
            "https" => true,
            // Browsers keep a `Secure` cookie of a plain address only where it cannot leave the machine.
            "http" => !is_configured || is_loopback(&url),
            _ => false,
        };
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if safe && plain && url.has_host() && url.path() == "/" && url.fragment().is_none() {
            Ok(Self(url))
        } else {
            Err(InvalidPublicUrl)
        }
    }

    /// Returns it as browsers write it in `Origin`.
    pub(crate) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// Returns its host as a name for the server. `0.0.0.0`, where a server may listen, is no name.
    pub(crate) fn host(&self) -> Option<String> {
        let host = self.0.host_str().filter(|host| !["0.0.0.0", "[::]"].contains(host));
        host.map(str::to_owned)
    }
}

fn is_loopback(url: &Url) -> bool {
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
    fn it_is_an_origin_and_safe_or_on_this_machine() {
        assert_eq!(public("https://guildhall.example.org/").as_deref(), Ok("https://guildhall.example.org"));
        assert_eq!(
            public("https://guildhall.example.org:8443").as_deref(),
            Ok("https://guildhall.example.org:8443")
        );
        assert_eq!(public("http://localhost:7117").as_deref(), Ok("http://localhost:7117"));
        assert_eq!(public("").as_deref(), Ok("http://127.0.0.1:7117"));
        for refused in [
            "guildhall.example.org",
            "http://guildhall.example.org",
            "https://me:hunter2@guildhall.example.org",
            "https://guildhall.example.org/below",
            "https://guildhall.example.org?x=1",
            "ftp://guildhall.example.org",
        ] {
            assert_eq!(public(refused), Err(InvalidPublicUrl), "{refused}");
        }
    }
}
