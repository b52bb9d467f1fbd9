//! Pages of this server that open the socket with the cookie of their browser session.
//!
//! A page of another site can open a socket too, and the browser then sends the cookie. So the `Origin` must be this
//! server's own, and the page proves with the CSRF token that it could read a response. Scripts can set no headers on a
//! socket: the token is one of the subprotocols that the page asks for.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::Caller;

use crate::App;
use crate::edge::caller::{AuthenticatedCaller, deny_wrong_csrf_token};
use crate::edge::cookies;
use crate::edge::csrf::CsrfTokenPlace;
use crate::edge::error::ApiError;

/// The subprotocol that the server selects where a client asks for it.
pub(super) const SUBPROTOCOL: &str = "guildhall.v1";

/// What stands before the CSRF token.
const CSRF_PREFIX: &str = "guildhall.csrf.";

/// The user of a browser session; none for clients without the cookie, which authenticate with `auth.connect`.
#[derive(Debug)]
pub(super) struct BrowserUser(pub(super) Option<Caller>);

impl FromRequestParts<App> for BrowserUser {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if cookies::find(&parts.headers, cookies::SESSION).is_none() {
            return Ok(Self(None));
        }
        if !parts.headers.contains_key(header::ORIGIN) {
            let message = "a browser session requires the `Origin` of this server, which is missing";
            return Err(ApiError::new(FailureKind::CsrfRefused, message));
        }
        // Checks the cookie, the origin and the rate limit.
        let (authenticated, cookie) = AuthenticatedCaller::from_session(parts, app).await?;
        let token = csrf_token(parts);
        let presented = (CsrfTokenPlace::Subprotocol, token.as_deref());
        deny_wrong_csrf_token(parts, app, &authenticated.caller, &cookie, presented).await?;
        Ok(Self(Some(authenticated.caller)))
    }
}

/// Returns the CSRF token among the subprotocols of a request.
fn csrf_token(parts: &Parts) -> Option<String> {
    let lines = parts.headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let offered = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let mut tokens = offered.filter_map(|name| name.trim().strip_prefix(CSRF_PREFIX));
    tokens.next().map(str::to_owned)
}
