//! The URL of the socket, which clients of AUN are told.

use std::net::SocketAddr;

use guildhall_service::identity::issuer::Issuer;
use url::Url;

use crate::Config;
use crate::public_url::{PublicUrl, SOCKET_PATH, is_loopback};

/// `aun.gateway_url` is invalid. The message does not repeat it: it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid aun.gateway_url (GUILDHALL_AUN_GATEWAY_URL): write wss:// and the host, such as \
     wss://guildhall.example.org/aun; ws:// is allowed only for this machine"
)]
pub struct InvalidGatewayUrl;

/// Where the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) plain: SocketAddr,
    pub(crate) tls: Option<SocketAddr>,
}

/// Checks the configured URL.
pub(crate) fn check(configured: &str) -> Result<(), InvalidGatewayUrl> {
    if configured.is_empty() {
        return Ok(());
    }
    let url = Url::parse(configured).map_err(|_| InvalidGatewayUrl)?;
    let is_safe = url.scheme() == "wss" || (url.scheme() == "ws" && is_loopback(&url));
    let no_credentials = url.username().is_empty() && url.password().is_none();
    let is_plain = url.query().is_none() && url.fragment().is_none();
    if is_safe && no_credentials && is_plain && url.has_host() { Ok(()) } else { Err(InvalidGatewayUrl) }
}

/// Returns the URL of the socket: the configured one, or one at the public URL, or at an address of the server.
/// None where the server issues no AIDs.
pub(crate) fn url(
    config: &Config,
    issuer: Option<&Issuer>,
    public: &PublicUrl,
    at: Addresses,
) -> Option<String> {
    let issuer = issuer?.authority.name();
    if !config.aun.gateway_url.is_empty() {
        return Some(config.aun.gateway_url.clone());
    }
    if !config.http.public_url.is_empty() {
        return Some(public.gateway());
    }
    Some(match at.tls {
        Some(address) => format!("wss://{address}{SOCKET_PATH}"),
        // Not an address that a client could use.
        None if at.plain.ip().is_unspecified() => {
            format!("ws://{}:{}{SOCKET_PATH}", issuer.host("gateway"), at.plain.port())
        }
        None => format!("ws://{}{SOCKET_PATH}", at.plain),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateway_url_is_wss_or_on_this_machine() {
        for valid in ["", "wss://guild.example/aun", "wss://guild.example:8443/x", "ws://127.0.0.1:7117/aun"]
        {
            assert_eq!(check(valid), Ok(()), "{valid}");
        }
        for invalid in [
            "ws://guild.example/aun",
            "https://guild.example/aun",
            "wss://me:hunter2@guild.example/aun",
            "wss://guild.example/aun?token=1",
            "guild.example",
        ] {
            assert_eq!(check(invalid), Err(InvalidGatewayUrl), "{invalid}");
        }
    }
}
