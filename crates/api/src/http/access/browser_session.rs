//! Browser sessions.

use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::auth::{BrowserSessionView, SignIn};
use guildhall_service::ServiceError;
use guildhall_service::access::browser_session::{self, BrowserSession};
use secrecy::{ExposeSecret, SecretString};

use super::auth::password_attempt;
use crate::App;
use crate::edge::caller::{AuthenticatedCaller, Credential};
use crate::edge::cookies;
use crate::edge::error::ApiError;
use crate::edge::input::Body;
use crate::edge::rates::AnonymousCaller;

/// Create a browser session with a name and a password
///
/// The session is the cookie `__Host-guildhall` (`HttpOnly`). Requests with it that change something must have the
/// `Origin` of this server and the session's CSRF token (`X-Guildhall-CSRF`).
#[utoipa::path(
    post, path = "/api/v1/auth/browser-session", tag = "auth", operation_id = "createBrowserSession",
    request_body = SignIn,
    responses(
        (status = 200, description = "Signed in", body = BrowserSessionView, headers(
            ("Set-Cookie" = String, description = "The cookie of the session"),
            ("Cache-Control" = String, description = "Always `no-store`"),
        )),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "Wrong name or password", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many failed attempts, or too many attempts with this name or from this address", body = Problem, content_type = CONTENT_TYPE),
        (status = 503, description = "Too many passwords wait to be checked", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: AnonymousCaller,
    Body(body): Body<SignIn>,
) -> Result<(HeaderMap, Json<BrowserSessionView>), ApiError> {
    let session = app.access.auth.sign_in_browser(&password_attempt(&app, caller, body).await?).await?;
    let mut headers = no_store();
    headers.extend(cookie_of(&session).map(|cookie| (SET_COOKIE, cookie)));
    let view = view(session.principal.to_string(), &session.cookie, session.expires_at);
    Ok((headers, Json(view)))
}

/// Get the current browser session
///
/// Returns the CSRF token again, for a page after a reload.
#[utoipa::path(
    get, path = "/api/v1/auth/browser-session", tag = "auth", operation_id = "getBrowserSession",
    security(("session" = [])),
    responses(
        (status = 200, description = "The session", body = BrowserSessionView, headers(
            ("Cache-Control" = String, description = "Always `no-store`"),
        )),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "The request has a bearer token, not a browser session", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn get(
    caller: AuthenticatedCaller,
) -> Result<(HeaderMap, Json<BrowserSessionView>), ApiError> {
    match &caller.credential {
        Credential::Bearer(_) => Err(ServiceError::NOT_FOUND.into()),
        Credential::Cookie(cookie) => {
            let view = view(caller.caller.principal.to_string(), cookie, caller.caller.expires_at);
            Ok((no_store(), Json(view)))
        }
    }
}

/// Returns the `Set-Cookie` header of a session.
pub(crate) fn cookie_of(session: &BrowserSession) -> Option<HeaderValue> {
    cookies::set(cookies::SESSION, &session.cookie, browser_session::LIFETIME)
}

/// Returns headers that forbid caching.
fn no_store() -> HeaderMap {
    HeaderMap::from_iter([(CACHE_CONTROL, HeaderValue::from_static("no-store"))])
}

fn view(principal: String, cookie: &SecretString, expires_at: jiff::Timestamp) -> BrowserSessionView {
    let csrf_token = browser_session::csrf_token(cookie).expose_secret().to_owned();
    BrowserSessionView { principal, csrf_token, expires_at }
}
