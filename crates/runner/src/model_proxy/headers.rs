//! Which headers pass the proxy.

use hyper::HeaderMap;
use hyper::header::{self, HeaderName, HeaderValue};

/// Headers of an agent that reach the provider. A list of allowed headers, because a provider may honour others as
/// credentials, as another account or as another path (`openai-organization`, `x-original-url`).
const ALLOWED_REQUEST_HEADERS: &[&str] = &[
    "accept",
    "accept-language",
    "content-type",
    "conversation_id",
    "http-referer",
    "idempotency-key",
    "openai-beta",
    "originator",
    "session-id",
    "session_id",
    "thread-id",
    "thread_id",
    "traceparent",
    "user-agent",
    "version",
    "x-app",
    "x-client-request-id",
    "x-goog-api-client",
    "x-request-id",
    "x-title",
];

/// Headers of known agents and client libraries: version, features and statistics.
const ALLOWED_REQUEST_PREFIXES: &[&str] = &["anthropic-", "x-codex-", "x-dashscope-", "x-stainless-"];

/// Headers of the provider that an agent does not get: cookies, the account, and other addresses of the provider.
const DROPPED_RESPONSE_HEADERS: &[&str] =
    &["alt-svc", "openai-organization", "openai-project", "set-cookie", "set-cookie2"];

/// Headers of one connection (RFC 9110, section 7.6.1), and those for proxies.
const HOP_BY_HOP_HEADERS: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the headers of a model request that reach the provider.
pub(super) fn provider_request_headers(agent: &HeaderMap) -> HeaderMap {
    let mut headers = without_hop_by_hop(agent);
    retain(&mut headers, |name, _| {
        ALLOWED_REQUEST_HEADERS.contains(&name)
            || ALLOWED_REQUEST_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    // Usage is read from the response, which must not be compressed.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

/// Returns the headers of a provider's response that reach the agent. A value with the credential is dropped.
pub(super) fn agent_response_headers(provider: &HeaderMap, credential: Option<&str>) -> HeaderMap {
    let mut headers = without_hop_by_hop(provider);
    retain(&mut headers, |name, value| {
        !DROPPED_RESPONSE_HEADERS.contains(&name)
            && !credential.is_some_and(|credential| contains(value.as_bytes(), credential.as_bytes()))
    });
    headers
}

/// Returns the headers without those of the connection, including those that `Connection` names.
pub(super) fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    let mut kept = headers.clone();
    HOP_BY_HOP_HEADERS.iter().for_each(|name| drop(kept.remove(*name)));
    named.iter().for_each(|name| drop(kept.remove(name)));
    kept
}

/// Returns whether a text occurs in bytes.
pub(super) fn contains(bytes: &[u8], text: &[u8]) -> bool {
    !text.is_empty() && bytes.windows(text.len()).any(|window| window == text)
}

fn retain(headers: &mut HeaderMap, keep: impl Fn(&str, &HeaderValue) -> bool) {
    let dropped: Vec<HeaderName> = headers
        .iter()
        .filter(|(name, value)| !keep(name.as_str(), value))
        .map(|(name, _)| name.clone())
        .collect();
    for name in dropped {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn credentials_accounts_and_paths_of_the_agent_are_dropped() {
        let agent = map(&[
            ("authorization", "Bearer agent"),
            ("x-api-key", "agent"),
            ("api-key", "agent"),
            ("x-goog-api-key", "agent"),
            ("cookie", "a=b"),
            ("openai-organization", "org-other"),
            ("openai-project", "other"),
            ("x-original-url", "/v1/files"),
            ("x-http-method-override", "DELETE"),
            ("x-forwarded-host", "evil.example"),
            ("host", "evil.example"),
            ("content-length", "5"),
            ("transfer-encoding", "chunked"),
            ("accept-encoding", "gzip"),
            ("expect", "100-continue"),
            ("content-type", "application/json"),
            ("anthropic-version", "2023-06-01"),
            ("x-stainless-lang", "js"),
        ]);
        let expected = map(&[
            ("content-type", "application/json"),
            ("anthropic-version", "2023-06-01"),
            ("x-stainless-lang", "js"),
            ("accept-encoding", "identity"),
        ]);
        assert_eq!(provider_request_headers(&agent), expected);
    }

    #[test]
    fn headers_named_by_connection_are_dropped() {
        let agent = map(&[("connection", "close, Accept"), ("accept", "*/*"), ("user-agent", "x")]);
        let expected = map(&[("user-agent", "x"), ("accept-encoding", "identity")]);
        assert_eq!(provider_request_headers(&agent), expected);
    }

    #[test]
    fn cookies_and_the_credential_of_the_provider_are_dropped() {
        let provider = map(&[
            ("set-cookie", "session=1"),
            ("x-echo", "Bearer sk-secret"),
            ("connection", "keep-alive"),
            ("openai-organization", "org-ours"),
            ("x-request-id", "req-1"),
        ]);
        assert_eq!(agent_response_headers(&provider, Some("sk-secret")), map(&[("x-request-id", "req-1")]));
    }
}
