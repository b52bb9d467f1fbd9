//! What the server uses beyond its engines: the way out, and the identity provider.

use guildhall_egress::{AddressRules, Egress, EgressError, EgressOptions, IpNet};
use guildhall_runtime::Clock;
use guildhall_service::access::auth::Auth;
use guildhall_service::access::oidc::{Oidc, ProviderOptions};
use url::{Host, Url};

use crate::Config;
use crate::public_url::PublicUrl;

/// Why what lies outside cannot be used. No message repeats a setting that may hold a secret.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    #[error("egress.allow: `{0}` is not a range of addresses such as 10.1.0.0/16")]
    Range(String),
    #[error("cannot prepare calls to others")]
    Egress(#[from] EgressError),
    #[error(
        "oidc.issuer (GUILDHALL_OIDC_ISSUER) is not usable: write it as the provider does, beginning with https://; plain \
         http:// is for a provider on this machine alone"
    )]
    Issuer,
    #[error(
        "oidc.client_id (GUILDHALL_OIDC_CLIENT_ID) is missing: the provider gives it when you register this server"
    )]
    ClientId,
    #[error(
        "http.public_url (GUILDHALL_HTTP_PUBLIC_URL) is missing: the provider must know where to send browsers back to"
    )]
    PublicUrl,
}

/// Prepares the identity provider, where one is configured. It is not called yet: it may be away without harm.
pub(crate) fn oidc(
    config: &Config,
    public: &PublicUrl,
    auth: &Auth,
    clock: &Clock,
) -> Result<Option<Oidc>, OutsideError> {
    let section = &config.oidc;
    if section.issuer.is_empty() {
        return Ok(None);
    }
    if !is_safe(&section.issuer) {
        return Err(OutsideError::Issuer);
    }
    if section.client_id.is_empty() {
        return Err(OutsideError::ClientId);
    }
    if public.host().is_none() {
        return Err(OutsideError::PublicUrl);
    }
    let options = ProviderOptions {
        issuer: section.issuer.clone(),
        client_id: section.client_id.clone(),
        client_secret: section.client_secret.clone(),
    };
    let origin = public.origin();
    Ok(Some(Oidc::new(auth.clone(), clock.clone(), egress(config)?, options, &origin)))
}

fn egress(config: &Config) -> Result<Egress, OutsideError> {
    let section = &config.egress;
    let options = EgressOptions {
        connect_timeout: section.connect_timeout,
        request_timeout: section.request_timeout,
        max_response_bytes: section.max_response_bytes.get(),
        // This machine is opened by its range alone, so that the configuration says so.
        allow_loopback: false,
        allow: ranges(config)?,
    };
    Ok(Egress::new(&options)?)
}

/// Returns which addresses others may be sent to: the same that the server itself may call.
pub(crate) fn address_rules(config: &Config) -> Result<AddressRules, OutsideError> {
    Ok(AddressRules { allow_loopback: false, allow: ranges(config)? })
}

fn ranges(config: &Config) -> Result<Vec<IpNet>, OutsideError> {
    let range = |text: &String| text.parse::<IpNet>().map_err(|_| OutsideError::Range(text.clone()));
    config.egress.allow.iter().map(range).collect()
}

/// Returns whether an issuer is an address as the standard has it, and cannot be overheard.
fn is_safe(issuer: &str) -> bool {
    let Ok(url) = Url::parse(issuer) else { return false };
    let local = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let plain = url.username().is_empty() && url.password().is_none();
    let bare = url.query().is_none() && url.fragment().is_none();
    plain && bare && url.has_host() && (url.scheme() == "https" || (url.scheme() == "http" && local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_cannot_be_overheard_and_holds_nothing_but_its_name() {
        for fine in ["https://accounts.example.org", "https://example.org/realms/a", "http://127.0.0.1:3000"]
        {
            assert!(is_safe(fine), "{fine}");
        }
        for refused in [
            "accounts.example.org",
            "http://accounts.example.org",
            "https://me:hunter2@example.org",
            "https://example.org/?a=b",
            "https://example.org/#a",
            "file:///etc/passwd",
        ] {
            assert!(!is_safe(refused), "{refused}");
        }
    }
}
