//! A call to make, parsed so far that nothing in it can lead elsewhere than it says.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

use crate::response::names;
use crate::{EgressError, RequestFault};

/// Headers that say how a message is framed and for whom it is. They follow from the URL and the body; a second opinion
/// about them is how requests are smuggled.
const OWN_HEADERS: [HeaderName; 8] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// One call to make.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) timeout: Option<Duration>,
}

impl Request {
    /// Prepares a call of a URL.
    pub fn new(method: Method, url: &str) -> Result<Self, EgressError> {
        // A tunnel is no call: it would reach where the URL does not say.
        if method == Method::CONNECT {
            return Err(RequestFault::Method(method.to_string()).into());
        }
        Ok(Self { method, url: parse(url)?, headers: HeaderMap::new(), body: None, timeout: None })
    }

    pub fn get(url: &str) -> Result<Self, EgressError> {
        Self::new(Method::GET, url)
    }

    pub fn post(url: &str, body: impl Into<Vec<u8>>) -> Result<Self, EgressError> {
        Ok(Self::new(Method::POST, url)?.body(body))
    }

    /// Sets a header, instead of an earlier one of that name.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, EgressError> {
        let fault = || RequestFault::Header(name.escape_default().to_string());
        let parsed = HeaderName::try_from(name).map_err(|_| fault())?;
        if OWN_HEADERS.contains(&parsed) {
            return Err(RequestFault::OwnHeader(parsed.to_string()).into());
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| fault())?;
        // Signatures and tokens travel here: none is printed or kept in a compression table.
        value.set_sensitive(true);
        self.headers.insert(parsed, value);
        Ok(self)
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Gives this call less time than the others. More than the configured time it never has.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns whom the call goes to, without port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the address that the URL itself names, if it names one: no resolver will see it.
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        match self.url.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }
}

/// Shows whom is called and how, never a query or a value.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("host", &self.host())
            .field("headers", &names(&self.headers))
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .field("timeout", &self.timeout)
            .finish()
    }
}

fn parse(text: &str) -> Result<Url, RequestFault> {
    let url = Url::parse(text).map_err(|_| RequestFault::Url)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(RequestFault::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(RequestFault::Credentials);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use hyper::Uri;
    use proptest::prelude::*;

    use super::*;

    fn fault(result: Result<Request, EgressError>) -> RequestFault {
        match result {
            Err(EgressError::BadRequest(fault)) => fault,
            other => panic!("expected a bad request: {other:?}"),
        }
    }

    #[test]
    fn only_http_and_https_are_called() {
        for url in ["file:///etc/passwd", "ftp://a.example/", "gopher://a.example/", "data:,x", "unix:/run/x"]
        {
            assert_eq!(fault(Request::get(url)), RequestFault::Scheme, "{url}");
        }
        for url in ["HTTP://a.example", "https://a.example:8443/b?c#d"] {
            Request::get(url).expect("a URL");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for url in
            ["", "a.example", "//a.example/", "http://", "http://[::1", "http://a b/", "http://1.2.3.4.5/"]
        {
            assert_eq!(fault(Request::get(url)), RequestFault::Url, "{url}");
        }
    }

    /// A zone names a network card of ours; nobody outside may choose one.
    #[test]
    fn an_address_with_a_zone_is_no_url() {
        for url in
            ["http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/", "http://[::1%25lo]/", "http://[::1%1]/"]
        {
            assert_eq!(fault(Request::get(url)), RequestFault::Url, "{url}");
        }
    }

    #[test]
    fn credentials_in_a_url_are_refused_and_not_repeated() {
        for url in ["http://hunter2@a.example/", "http://me:hunter2@a.example/", "http://:hunter2@a.example/"]
        {
            let error = Request::get(url).expect_err("refused");
            assert!(matches!(error, EgressError::BadRequest(RequestFault::Credentials)), "{url}");
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    #[test]
    fn a_request_prints_neither_query_nor_values() {
        let request = Request::post("https://a.example/hooks?token=hunter2", "hunter2")
            .and_then(|request| request.header("authorization", "Bearer hunter2"))
            .expect("a request");
        let shown = format!("{request:?}");
        assert!(shown.contains("a.example") && shown.contains("authorization"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn headers_that_frame_a_message_cannot_be_set() {
        for name in
            ["Host", "content-length", "Transfer-Encoding", "connection", "upgrade", "proxy-authorization"]
        {
            let request = Request::get("https://a.example").expect("a URL");
            let refused = fault(request.header(name, "x"));
            assert_eq!(refused, RequestFault::OwnHeader(name.to_ascii_lowercase()));
        }
    }

    #[test]
    fn a_header_cannot_smuggle_a_line() {
        for (name, value) in
            [("x", "a\r\nhost: evil"), ("x", "a\nb"), ("x\r\ny", "z"), ("", "z"), ("x y", "z")]
        {
            let request = Request::get("https://a.example").expect("a URL");
            assert!(matches!(fault(request.header(name, value)), RequestFault::Header(_)), "{name:?}");
        }
    }

    #[test]
    fn a_tunnel_is_no_call() {
        let refused = fault(Request::new(Method::CONNECT, "https://a.example"));
        assert_eq!(refused, RequestFault::Method("CONNECT".to_owned()));
    }

    /// Writes an IPv4 address in one of the ways that C libraries and browsers read.
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
        fn every_notation_of_an_ipv4_address_is_seen_as_that_address(number: u32, style in 0_u8..11) {
            let address = Ipv4Addr::from(number);
            let request = Request::get(&format!("http://{}:80/", notation(address, style))).expect("a URL");
            prop_assert_eq!(request.literal(), Some(address.into()));
        }

        #[test]
        fn every_ipv6_address_in_a_url_is_seen(number: u128) {
            let address = Ipv6Addr::from(number);
            let request = Request::get(&format!("http://[{address}]/")).expect("a URL");
            prop_assert_eq!(request.literal(), Some(address.into()));
        }

        /// The connector dials a host that parses as an address without asking the resolver. It must never see an
        /// address where the rules saw a name, nor another one.
        #[test]
        fn the_rules_and_the_connector_see_the_same_address(
            host in r"[0-9a-fA-FxX.:%\[\]①。．_-]{1,24}|\PC{1,16}|[0-9]{1,3}(\.[0-9]{1,3}){0,4}\.?",
        ) {
            let Ok(request) = Request::get(&format!("http://{host}/")) else { return Ok(()) };
            let Ok(uri) = request.url.as_str().parse::<Uri>() else { return Ok(()) };
            let dialled = uri.host().unwrap_or_default().trim_matches(['[', ']']);
            prop_assert_eq!(dialled.parse::<IpAddr>().ok(), request.literal());
        }
    }
}
