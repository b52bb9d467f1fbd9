//! Requests. They are validated so that the call cannot go anywhere else than the URL says.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

use crate::response::header_names;
use crate::{EgressError, RequestError};

/// Headers for message framing and routing. The client derives them from the URL and the body; overriding them would
/// allow request smuggling.
const RESERVED_HEADERS: [HeaderName; 8] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A request to send.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) timeout: Option<Duration>,
}

impl Request {
    /// Creates a request for a URL.
    pub fn new(method: Method, url: &str) -> Result<Self, EgressError> {
        // A tunnel could reach other hosts than the URL says.
        if method == Method::CONNECT {
            return Err(RequestError::Method(method.to_string()).into());
        }
        Ok(Self { method, url: parse(url)?, headers: HeaderMap::new(), body: None, timeout: None })
    }

    pub fn get(url: &str) -> Result<Self, EgressError> {
        Self::new(Method::GET, url)
    }

    pub fn post(url: &str, body: impl Into<Vec<u8>>) -> Result<Self, EgressError> {
        Ok(Self::new(Method::POST, url)?.body(body))
    }

    /// Sets a header, replacing an earlier one with the same name.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, EgressError> {
        let invalid = || RequestError::Header(name.escape_default().to_string());
        let parsed = HeaderName::try_from(name).map_err(|_| invalid())?;
        if RESERVED_HEADERS.contains(&parsed) {
            return Err(RequestError::ReservedHeader(parsed.to_string()).into());
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| invalid())?;
        // Values may be signatures or tokens: keep them out of logs and compression tables.
        value.set_sensitive(true);
        self.headers.insert(parsed, value);
        Ok(self)
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets a shorter timeout for this call. It cannot exceed the configured one.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the host, without port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the address literal of the URL, if any: it does not go through a resolver.
    pub(crate) fn address_literal(&self) -> Option<IpAddr> {
        match self.url.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }
}

/// Prints neither the path and query nor header values.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("host", &self.host())
            .field("headers", &header_names(&self.headers))
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .field("timeout", &self.timeout)
            .finish()
    }
}

fn parse(text: &str) -> Result<Url, RequestError> {
    let url = Url::parse(text).map_err(|_| RequestError::Url)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(RequestError::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(RequestError::Credentials);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use hyper::Uri;
    use proptest::prelude::*;

    use super::*;

    fn request_error(result: Result<Request, EgressError>) -> RequestError {
        match result {
            Err(EgressError::InvalidRequest(error)) => error,
            other => panic!("expected an invalid request: {other:?}"),
        }
    }

    #[test]
    fn only_http_and_https_are_allowed() {
        for url in ["file:///etc/passwd", "ftp://a.example/", "gopher://a.example/", "data:,x", "unix:/run/x"]
        {
            assert_eq!(request_error(Request::get(url)), RequestError::Scheme, "{url}");
        }
        for url in ["HTTP://a.example", "https://a.example:8443/b?c#d"] {
            Request::get(url).expect("a URL");
        }
    }

    #[test]
    fn invalid_url_is_rejected() {
        for url in
            ["", "a.example", "//a.example/", "http://", "http://[::1", "http://a b/", "http://1.2.3.4.5/"]
        {
            assert_eq!(request_error(Request::get(url)), RequestError::Url, "{url}");
        }
    }

    /// A zone selects a network interface of this machine, which callers must not choose.
    #[test]
    fn address_with_a_zone_is_rejected() {
        for url in
            ["http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/", "http://[::1%25lo]/", "http://[::1%1]/"]
        {
            assert_eq!(request_error(Request::get(url)), RequestError::Url, "{url}");
        }
    }

    #[test]
    fn credentials_in_a_url_are_rejected_and_not_printed() {
        for url in ["http://hunter2@a.example/", "http://me:hunter2@a.example/", "http://:hunter2@a.example/"]
        {
            let error = Request::get(url).expect_err("refused");
            assert!(matches!(error, EgressError::InvalidRequest(RequestError::Credentials)), "{url}");
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    #[test]
    fn debug_output_has_no_query_or_header_values() {
        let request = Request::post("https://a.example/hooks?token=hunter2", "hunter2")
            .and_then(|request| request.header("authorization", "Bearer hunter2"))
            .expect("a request");
        let printed = format!("{request:?}");
        assert!(printed.contains("a.example") && printed.contains("authorization"), "{printed}");
        assert!(!printed.contains("hunter2"), "{printed}");
    }

    #[test]
    fn reserved_headers_cannot_be_set() {
        for name in
            ["Host", "content-length", "Transfer-Encoding", "connection", "upgrade", "proxy-authorization"]
        {
            let request = Request::get("https://a.example").expect("a URL");
            let error = request_error(request.header(name, "x"));
            assert_eq!(error, RequestError::ReservedHeader(name.to_ascii_lowercase()));
        }
    }

    #[test]
    fn header_with_line_breaks_is_rejected() {
        for (name, value) in
            [("x", "a\r\nhost: evil"), ("x", "a\nb"), ("x\r\ny", "z"), ("", "z"), ("x y", "z")]
        {
            let request = Request::get("https://a.example").expect("a URL");
            assert!(
                matches!(request_error(request.header(name, value)), RequestError::Header(_)),
                "{name:?}"
            );
        }
    }

    #[test]
    fn connect_method_is_rejected() {
        let error = request_error(Request::new(Method::CONNECT, "https://a.example"));
        assert_eq!(error, RequestError::Method("CONNECT".to_owned()));
    }

    /// Formats an IPv4 address in one of the notations that C libraries and browsers accept.
    fn notation(address: Ipv4Addr, style: u8) -> String {
        let ([a, b, c, d], number) = (address.octets(), u32::from(address));
        match style {
            0 => format!("{a}.{b}.{c}.{d}"),
            1 => number.to_string(),
            2 => format!("{number:#x}"),
            3 => format!("0{number:o}"),
            4 => format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            5 => format!("0X{a:X}.{b:#x}.0{c:o}.{d}"),
            6 => format!("{a}.{}", number & 0x00ff_ffff),
            7 => format!("{a}.{b}.{}", number & 0xffff),
            8 => format!("{a}.{b}.{c}.{d}."),
            9 => format!("{a}%2e{b}。{c}．{d}"),
            _ => format!("0000{a:o}.{b}.{c}.{d}"),
        }
    }

    proptest! {
        #[test]
        fn ipv4_notations_are_canonicalized(number: u32, style in 0_u8..11) {
            let address = Ipv4Addr::from(number);
            let request = Request::get(&format!("http://{}:80/", notation(address, style))).expect("a URL");
            prop_assert_eq!(request.address_literal(), Some(address.into()));
        }

        #[test]
        fn ipv6_literals_are_recognized(number: u128) {
            let address = Ipv6Addr::from(number);
            let request = Request::get(&format!("http://[{address}]/")).expect("a URL");
            prop_assert_eq!(request.address_literal(), Some(address.into()));
        }

        /// The connector bypasses the resolver for a host that parses as an address. Rules and connector must agree on
        /// what is an address.
        #[test]
        fn rules_and_connector_see_the_same_address(
            host in r"[0-9a-fA-FxX.:%\[\]①。．_-]{1,24}|\PC{1,16}|[0-9]{1,3}(\.[0-9]{1,3}){0,4}\.?",
        ) {
            let Ok(request) = Request::get(&format!("http://{host}/")) else { return Ok(()) };
            let Ok(uri) = request.url.as_str().parse::<Uri>() else { return Ok(()) };
            let connector_host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
            prop_assert_eq!(connector_host.parse::<IpAddr>().ok(), request.address_literal());
        }
    }
}
