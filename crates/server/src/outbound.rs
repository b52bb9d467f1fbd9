//! Outbound calls: the egress rules and the identity provider.

use guildhall_egress::{AddressRules, Egress, EgressError, EgressOptions, IpNet};
use guildhall_runtime::Clock;
use guildhall_service::access::auth::Auth;
use guildhall_service::access::oidc::{Oidc, ProviderOptions};
use url::{Host, Url};

use crate::Config;
use crate::public_url::PublicUrl;

/// Why outbound calls cannot be configured. No message repeats a setting that may hold a secret.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    #[error("egress.allow: invalid address range `{0}`: write it as 10.1.0.0/16")]
    Range(String),
    #[error("cannot create the client for outbound calls")]
    Egress(#[from] EgressError),
    #[error(
        "invalid oidc.issuer (GUILDHALL_OIDC_ISSUER): write the provider's issuer URL, starting with https://; \
         http:// is allowed only for a provider on this machine"
    )]
    Issuer,
    #[error(
        "oidc.client_id (GUILDHALL_OIDC_CLIENT_ID) is missing: register this server with the provider to get one"
    )]
    ClientId,
    #[error(
        "http.public_url (GUILDHALL_HTTP_PUBLIC_URL) is missing: the provider redirects browsers to this address"
    )]
    PublicUrl,
}

/// The configured identity provider.
pub(crate) struct OidcProvider {
    options: ProviderOptions,
    egress: Egress,
}

impl OidcProvider {
    /// Creates the client of the provider. Does not call it: a start does not depend on it.
    pub(crate) fn open(self, public: &PublicUrl, auth: &Auth, clock: &Clock) -> Oidc {
        Oidc::new(auth.clone(), clock.clone(), self.egress, self.options, &public.origin())
    }
}

/// Returns the identity provider, where one is configured.
pub(crate) fn oidc(config: &Config, public: &PublicUrl) -> Result<Option<OidcProvider>, OutboundError> {
    let section = &config.oidc;
    if section.issuer.is_empty() {
        return Ok(None);
    }
    if !is_valid_issuer(&section.issuer) {
        return Err(OutboundError::Issuer);
    }
    if section.client_id.is_empty() {
        return Err(OutboundError::ClientId);
    }
    if public.host().is_none() {
        return Err(OutboundError::PublicUrl);
    }
    let options = ProviderOptions {
        issuer: section.issuer.clone(),
        client_id: section.client_id.clone(),
        client_secret: section.client_secret.clone(),
    };
    Ok(Some(OidcProvider { options, egress: Egress::new(&egress_options(config)?)? }))
}

/// Returns the limits and rules of outbound calls.
pub(crate) fn egress_options(config: &Config) -> Result<EgressOptions, OutboundError> {
    let section = &config.egress;
    Ok(EgressOptions {
        connect_timeout: section.connect_timeout,
        request_timeout: section.request_timeout,
        max_response_bytes: section.max_response_bytes.get(),
        // Loopback must be allowed by its address range, so that the configuration shows it.
        allow_loopback: false,
        allow: ranges(config)?,
    })
}

/// Returns the addresses that tenants may configure as provider URLs: the same that the server itself may call.
pub(crate) fn address_rules(config: &Config) -> Result<AddressRules, OutboundError> {
    Ok(AddressRules { allow_loopback: false, allow: ranges(config)? })
}

fn ranges(config: &Config) -> Result<Vec<IpNet>, OutboundError> {
    let range = |text: &String| text.parse::<IpNet>().map_err(|_| OutboundError::Range(text.clone()));
    config.egress.allow.iter().map(range).collect()
}

/// Returns whether an issuer is a URL as OpenID Connect requires, with https or on loopback.
fn is_valid_issuer(issuer: &str) -> bool {
    let Ok(url) = Url::parse(issuer) else { return false };
    let is_loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let no_credentials = url.username().is_empty() && url.password().is_none();
    let no_query = url.query().is_none() && url.fragment().is_none();
    let safe_scheme = url.scheme() == "https" || (url.scheme() == "http" && is_loopback);
    no_credentials && no_query && url.has_host() && safe_scheme
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_must_be_https_or_loopback_without_credentials_or_query() {
        for valid in ["https://accounts.example.org", "https://example.org/realms/a", "http://127.0.0.1:3000"]
        {
            assert!(is_valid_issuer(valid), "{valid}");
        }
        for invalid in [
            "accounts.example.org",
            "http://accounts.example.org",
            "https://me:hunter2@example.org",
            "https://example.org/?a=b",
            "https://example.org/#a",
            "file:///etc/passwd",
        ] {
            assert!(!is_valid_issuer(invalid), "{invalid}");
        }
    }
}
