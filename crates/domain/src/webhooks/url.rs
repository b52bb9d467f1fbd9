//! Where a webhook may be. The server calls it from inside its own network.

use std::fmt;
use std::net::IpAddr;

use ::url::{Host, Url};

/// The length of a URL, in bytes.
pub const MAX_URL_BYTES: usize = 2048;

/// A URL that no webhook can have. It is not repeated: it may hold a token of the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhookUrl {
    #[error("write https://, the host and the path")]
    Form,
    #[error("it has more than {MAX_URL_BYTES} bytes")]
    TooLong,
    #[error("only a receiver on the server's own machine can use http://: write https://")]
    Scheme,
    #[error("it contains a user name or a password: the signature of each request authenticates the server")]
    Credentials,
    #[error("it contains a fragment, which is never sent")]
    Fragment,
}

/// What the URL of a webhook names, for the rules of outbound addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookHost<'a> {
    /// A name, checked again each time it is resolved.
    Name(&'a str),
    Address(IpAddr),
}

/// The normal form of a valid URL. Prints as its host: the path and the query may hold a token of the receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// Parses a URL. It needs `https`, or `http` to this machine, and has no user, password or fragment.
    pub fn parse(text: &str) -> Result<Self, InvalidWebhookUrl> {
        if text.len() > MAX_URL_BYTES {
            return Err(InvalidWebhookUrl::TooLong);
        }
        let url = Url::parse(text).map_err(|_| InvalidWebhookUrl::Form)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(InvalidWebhookUrl::Form);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidWebhookUrl::Credentials);
        }
        if url.fragment().is_some() {
            return Err(InvalidWebhookUrl::Fragment);
        }
        // The normal form can be longer: it escapes characters.
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(InvalidWebhookUrl::TooLong);
        }
        let url = Self(url);
        if url.0.scheme() == "http" && !url.is_local() {
            return Err(InvalidWebhookUrl::Scheme);
        }
        Ok(url)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the host and the port, for logs and audit entries.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.authority()
    }

    /// Returns what has to be checked. `localhost` is an address: no resolver is asked for it.
    #[must_use]
    pub fn host(&self) -> WebhookHost<'_> {
        match self.0.host() {
            Some(Host::Ipv4(address)) => WebhookHost::Address(address.into()),
            Some(Host::Ipv6(address)) => WebhookHost::Address(IpAddr::V6(address).to_canonical()),
            Some(Host::Domain(name)) if is_localhost(name) => {
                WebhookHost::Address(std::net::Ipv4Addr::LOCALHOST.into())
            }
            Some(Host::Domain(name)) => WebhookHost::Name(name),
            // Not reached: `parse` requires a host. An unspecified address is never allowed.
            None => WebhookHost::Address(std::net::Ipv4Addr::UNSPECIFIED.into()),
        }
    }

    fn is_local(&self) -> bool {
        match self.host() {
            WebhookHost::Address(address) => address.is_loopback(),
            WebhookHost::Name(_) => false,
        }
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookUrl({})", self.authority())
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<String, InvalidWebhookUrl> {
        WebhookUrl::parse(text).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn https_urls_and_local_http_urls_are_accepted_in_normal_form() {
        for (text, normal) in [
            ("https://Example.org", "https://example.org/"),
            ("https://example.org:8443/a?b=c", "https://example.org:8443/a?b=c"),
            ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000/a"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::1]:9000/", "http://[::1]:9000/"),
            ("http://localhost/", "http://localhost/"),
            ("https://10.0.0.1/", "https://10.0.0.1/"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(normal), "{text}");
        }
    }

    #[test]
    fn other_urls_are_rejected_and_not_repeated() {
        let long = format!("https://example.org/{}", "a".repeat(MAX_URL_BYTES));
        for (text, error) in [
            ("example.org/hunter2", InvalidWebhookUrl::Form),
            ("file:///etc/hunter2", InvalidWebhookUrl::Form),
            ("ftp://example.org/hunter2", InvalidWebhookUrl::Form),
            ("https://", InvalidWebhookUrl::Form),
            ("http://example.org/hunter2", InvalidWebhookUrl::Scheme),
            ("http://10.0.0.1/hunter2", InvalidWebhookUrl::Scheme),
            ("https://me:hunter2@example.org/", InvalidWebhookUrl::Credentials),
            ("https://hunter2@example.org/", InvalidWebhookUrl::Credentials),
            ("https://example.org/#hunter2", InvalidWebhookUrl::Fragment),
            (&long, InvalidWebhookUrl::TooLong),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    #[test]
    fn url_prints_as_its_authority() {
        let url = WebhookUrl::parse("https://example.org:8443/hunter2?a=hunter2").expect("a URL");
        assert_eq!(format!("{url:?} {}", url.authority()), "WebhookUrl(example.org:8443) example.org:8443");
    }

    proptest! {
        #[test]
        fn normal_form_is_accepted_again(text in "https?://[a-z0-9.:@\\[\\]-]{1,30}(/[ -~é]{0,30})?") {
            if let Ok(normal) = parse(&text) {
                prop_assert!(normal.len() <= MAX_URL_BYTES);
                prop_assert_eq!(parse(&normal), Ok(normal));
            }
        }
    }
}
