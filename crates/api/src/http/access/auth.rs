//! Signing in and out.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::auth::{Refresh, SignIn, SignedOutView, TokensView, WhoamiView};
use guildhall_service::access::auth::{PasswordAttempt, Tokens};
use secrecy::{ExposeSecret, SecretString};

use super::tenants::membership;
use crate::App;
use crate::edge::caller::{AuthenticatedCaller, Credential};
use crate::edge::cookies;
use crate::edge::error::ApiError;
use crate::edge::input::Body;
use crate::edge::rates::AnonymousCaller;

/// Sign in with a name and a password
#[utoipa::path(
    post, path = "/api/v1/auth/login", tag = "auth", operation_id = "signIn", request_body = SignIn,
    responses(
        (status = 200, description = "Signed in", body = TokensView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "Wrong name or password", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many failed attempts, or too many attempts with this name or from this address", body = Problem, content_type = CONTENT_TYPE),
        (status = 503, description = "Too many passwords wait to be checked", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn login(
    State(app): State<App>,
    caller: AnonymousCaller,
    Body(body): Body<SignIn>,
) -> Result<Json<TokensView>, ApiError> {
    let tokens = app.access.auth.sign_in(&password_attempt(&app, caller, body).await?).await?;
    Ok(Json(view(&tokens)))
}

/// Exchange a refresh token for new tokens
#[utoipa::path(
    post, path = "/api/v1/auth/refresh", tag = "auth", operation_id = "refreshTokens", request_body = Refresh,
    responses(
        (status = 200, description = "The new tokens", body = TokensView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "Invalid or already used", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many attempts from this address", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn refresh(
    State(app): State<App>,
    _: AnonymousCaller,
    Body(body): Body<Refresh>,
) -> Result<Json<TokensView>, ApiError> {
    let tokens = app.access.auth.refresh(&SecretString::from(body.refresh_token)).await?;
    Ok(Json(view(&tokens)))
}

/// Sign out
///
/// Revokes the tokens of this login on every replica. Ends the browser session and clears its cookie.
#[utoipa::path(
    post, path = "/api/v1/auth/logout", tag = "auth", operation_id = "signOut", security(("bearer" = [])),
    responses(
        (status = 200, description = "Signed out", body = SignedOutView, headers(
            ("Set-Cookie" = String, description = "Clears the cookie of a browser session"),
        )),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn logout(
    State(app): State<App>,
    caller: AuthenticatedCaller,
) -> Result<(HeaderMap, Json<SignedOutView>), ApiError> {
    app.access.auth.sign_out(&caller.caller).await?;
    let cookie = match caller.credential {
        Credential::Bearer(_) => None,
        Credential::Cookie(_) => cookies::clear(cookies::SESSION),
    };
    let headers = cookie.map(|cookie| (SET_COOKIE, cookie)).into_iter().collect();
    Ok((headers, Json(SignedOutView { signed_out: true })))
}

/// Get the signed-in principal
#[utoipa::path(
    get, path = "/api/v1/whoami", tag = "auth", operation_id = "getCurrentPrincipal", security(("bearer" = [])),
    responses(
        (status = 200, description = "The principal and its tenants", body = WhoamiView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn whoami(
    State(app): State<App>,
    caller: AuthenticatedCaller,
) -> Result<Json<WhoamiView>, ApiError> {
    let tenants = app.access.tenants.list(&caller.caller).await?;
    Ok(Json(WhoamiView {
        principal: caller.caller.principal.to_string(),
        kind: caller.caller.kind.as_str().to_owned(),
        operator: caller.caller.is_operator,
        tenants: tenants.into_iter().map(membership).collect(),
    }))
}

/// Counts an attempt for its user name, before anything is read or hashed.
pub(crate) async fn password_attempt(
    app: &App,
    caller: AnonymousCaller,
    body: SignIn,
) -> Result<PasswordAttempt, ApiError> {
    caller.count_account(app, &body.name).await?;
    Ok(PasswordAttempt {
        name: body.name,
        password: SecretString::from(body.password),
        client: caller.address,
    })
}

pub(crate) fn view(tokens: &Tokens) -> TokensView {
    TokensView {
        principal: tokens.principal.to_string(),
        access_token: tokens.access.expose_secret().to_owned(),
        access_expires_at: tokens.access_expires_at,
        refresh_token: tokens.refresh.expose_secret().to_owned(),
    }
}
