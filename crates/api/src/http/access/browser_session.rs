//! Browser sessions.

use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::auth::{BrowserSessionView, SignIn};
use guildhall_service::ServiceError;
use guildhall_service::access::browser::{self, BrowserSession};
use secrecy::{ExposeSecret, SecretString};

use crate::App;
use crate::edge::caller::{Asking, Credential};
use crate::edge::cookies;
use crate::edge::error::ApiError;
use crate::edge::input::Body;

/// Sign a browser in with a name and a password
///
/// The session is a cookie (`__Host-guildhall`) that scripts cannot read. With it, whatever changes something needs a
/// page of this server (`Origin`) and the session's CSRF token (`X-Guildhall-CSRF`).
#[utoipa::path(
    post, path = "/api/v1/auth/browser-session", tag = "auth", operation_id = "signInBrowser", request_body = SignIn,
    responses(
        (status = 200, description = "Signed in", body = BrowserSessionView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "The name or the password is wrong", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many failed attempts", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    Body(body): Body<SignIn>,
) -> Result<(HeaderMap, Json<BrowserSessionView>), ApiError> {
    let session = app.auth.sign_in_browser(&body.name, &SecretString::from(body.password)).await?;
    let mut headers = unkept();
    headers.extend(cookie_of(&session).map(|cookie| (SET_COOKIE, cookie)));
    let view = view(session.principal.to_string(), &session.cookie, session.expires_at);
    Ok((headers, Json(view)))
}

/// The browser session that the request came with
///
/// With its CSRF token, for a page that was loaded anew.
#[utoipa::path(
    get, path = "/api/v1/auth/browser-session", tag = "auth", operation_id = "showBrowserSession",
    security(("session" = [])),
    responses(
        (status = 200, description = "The session", body = BrowserSessionView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "The caller came with a token, not with a session", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn show(asking: Asking) -> Result<(HeaderMap, Json<BrowserSessionView>), ApiError> {
    match &asking.credential {
        Credential::Bearer(_) => Err(ServiceError::NOT_FOUND.into()),
        Credential::Cookie(cookie) => {
            let view = view(asking.caller.principal.to_string(), cookie, asking.caller.expires_at);
            Ok((unkept(), Json(view)))
        }
    }
}

/// Returns the header that gives a browser its session.
pub(crate) fn cookie_of(session: &BrowserSession) -> Option<HeaderValue> {
    cookies::set(cookies::SESSION, &session.cookie, browser::LIFETIME)
}

/// Keeps an answer out of every cache.
fn unkept() -> HeaderMap {
    HeaderMap::from_iter([(CACHE_CONTROL, HeaderValue::from_static("no-store"))])
}

fn view(principal: String, cookie: &SecretString, expires_at: jiff::Timestamp) -> BrowserSessionView {
    let csrf_token = browser::csrf_token(cookie).expose_secret().to_owned();
    BrowserSessionView { principal, csrf_token, expires_at }
}
