//! The hosts of an AUN issuer: `{issuer}` itself and the names one label below it. Each serves a few public routes.

use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use guildhall_domain::identity::IssuerName;

/// A host of the issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IssuerHost {
    /// `ct.{issuer}`: the transparency log.
    Log,
    /// `pki.{issuer}`: certificates and the list of trusted roots.
    Pki,
    /// `gateway.{issuer}`, an AID, or the issuer itself: discovery, certificates and the socket.
    Gateway,
}

const LOG_PREFIX: &str = "/ct";
const PKI_PREFIX: &str = "/pki/";
const PKI_ROUTES: [&str; 2] = ["/trust-root.json", "/root.crt"];
const GATEWAY_ROUTES: [&str; 6] =
    ["/.well-known/aun-gateway", "/agent.md", "/aun", "/health", "/health/live", "/health/readiness"];

impl IssuerHost {
    /// Returns which host of the issuer a name is. The name has no port.
    pub(crate) fn find(issuer: &IssuerName, name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        if name == issuer.as_str() {
            return Some(Self::Gateway);
        }
        match name.strip_suffix(issuer.as_str())?.strip_suffix('.')? {
            "ct" => Some(Self::Log),
            "pki" => Some(Self::Pki),
            label => is_label(label).then_some(Self::Gateway),
        }
    }

    /// Returns whether the host serves a route, given as its template.
    pub(crate) fn serves(self, route: &str) -> bool {
        match self {
            Self::Log => route.strip_prefix(LOG_PREFIX).is_some_and(|rest| rest.starts_with('/')),
            Self::Pki => route.starts_with(PKI_PREFIX) || PKI_ROUTES.contains(&route),
            Self::Gateway => route.starts_with(PKI_PREFIX) || GATEWAY_ROUTES.contains(&route),
        }
    }

    /// Returns the path under which the server has a resource of this host: `ct.{issuer}/sth` is `/ct/sth`.
    pub(crate) fn rewrite(self, uri: &Uri) -> Option<Uri> {
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        if self != Self::Log || path.starts_with("/ct/") {
            return None;
        }
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(format!("{LOG_PREFIX}{path}").parse().ok()?);
        Uri::from_parts(parts).ok()
    }
}

/// The longest label of a DNS name.
const MAX_LABEL: usize = 63;

fn is_label(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=MAX_LABEL).contains(&text.len()) && text.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer() -> IssuerName {
        "guild.example".parse().expect("a name")
    }

    #[test]
    fn names_one_label_below_the_issuer_are_its_hosts() {
        let found = |name: &str| IssuerHost::find(&issuer(), name);
        assert_eq!(found("ct.guild.example"), Some(IssuerHost::Log));
        assert_eq!(found("PKI.Guild.Example"), Some(IssuerHost::Pki));
        for name in ["guild.example", "gateway.guild.example", "alice_1.guild.example"] {
            assert_eq!(found(name), Some(IssuerHost::Gateway), "{name}");
        }
        for name in [
            "example",
            "xguild.example",
            ".guild.example",
            "a.b.guild.example",
            "ct.guild.example.",
            "ct.guild.example.evil.example",
            "me@x.guild.example",
            "",
        ] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn each_host_serves_only_its_own_routes() {
        let routes = [
            "/ct/sth",
            "/pki/chain",
            "/root.crt",
            "/trust-root.json",
            "/.well-known/aun-gateway",
            "/aun",
            "/health",
            "/api/v1/whoami",
            "/metrics",
            "/docs",
            "/ctx",
            "none",
        ];
        let served =
            |host: IssuerHost| routes.into_iter().filter(|route| host.serves(route)).collect::<Vec<_>>();
        assert_eq!(served(IssuerHost::Log), ["/ct/sth"]);
        assert_eq!(served(IssuerHost::Pki), ["/pki/chain", "/root.crt", "/trust-root.json"]);
        assert_eq!(
            served(IssuerHost::Gateway),
            ["/pki/chain", "/.well-known/aun-gateway", "/aun", "/health"]
        );
    }

    #[test]
    fn paths_of_the_log_are_rewritten_once() {
        let rewritten = |host: IssuerHost, uri: &'static str| {
            host.rewrite(&Uri::from_static(uri)).map(|uri| uri.to_string())
        };
        assert_eq!(
            rewritten(IssuerHost::Log, "/entries?start=0&end=9").as_deref(),
            Some("/ct/entries?start=0&end=9")
        );
        assert_eq!(
            rewritten(IssuerHost::Log, "https://ct.guild.example/sth").as_deref(),
            Some("https://ct.guild.example/ct/sth")
        );
        assert_eq!(rewritten(IssuerHost::Log, "/ct/sth"), None);
        assert_eq!(rewritten(IssuerHost::Pki, "/sth"), None);
    }
}
