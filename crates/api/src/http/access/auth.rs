//! Signing in and out.

use axum::Json;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::auth::{Refresh, SignIn, TokensView, WhoamiView};
use guildhall_service::access::auth::Tokens;
use secrecy::{ExposeSecret, SecretString};

use super::tenants::membership;
use crate::App;
use crate::edge::caller::{Asking, Credential};
use crate::edge::cookies;
use crate::edge::error::ApiError;
use crate::edge::input::Body;
use crate::edge::rates::Stranger;

/// Sign in with a name and a password
#[utoipa::path(
    post, path = "/api/v1/auth/login", tag = "auth", operation_id = "signIn", request_body = SignIn,
    responses(
        (status = 200, description = "Signed in", body = TokensView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "The name or the password is wrong", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many failed attempts, or too many attempts from this address", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn login(
    State(app): State<App>,
    _: Stranger,
    Body(body): Body<SignIn>,
) -> Result<Json<TokensView>, ApiError> {
    let tokens = app.auth.sign_in(&body.name, &SecretString::from(body.password)).await?;
    Ok(Json(view(&tokens)))
}

/// Exchange a refresh token for the next
#[utoipa::path(
    post, path = "/api/v1/auth/refresh", tag = "auth", operation_id = "refresh", request_body = Refresh,
    responses(
        (status = 200, description = "The next tokens", body = TokensView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "Not valid, or used before", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many attempts from this address", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn refresh(
    State(app): State<App>,
    _: Stranger,
    Body(body): Body<Refresh>,
) -> Result<Json<TokensView>, ApiError> {
    let tokens = app.auth.refresh(&SecretString::from(body.refresh_token)).await?;
    Ok(Json(view(&tokens)))
}

/// End this login, everywhere
///
/// A browser session ends, and its cookie is taken away.
#[utoipa::path(
    post, path = "/api/v1/auth/logout", tag = "auth", operation_id = "signOut", security(("bearer" = [])),
    responses(
        (status = 204, description = "Signed out"),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn logout(
    State(app): State<App>,
    asking: Asking,
) -> Result<(StatusCode, HeaderMap), ApiError> {
    app.auth.sign_out(&asking.caller).await?;
    let gone = match asking.credential {
        Credential::Bearer(_) => None,
        Credential::Cookie(_) => cookies::clear(cookies::SESSION),
    };
    Ok((StatusCode::NO_CONTENT, gone.map(|gone| (SET_COOKIE, gone)).into_iter().collect()))
}

/// Who am I?
#[utoipa::path(
    get, path = "/api/v1/whoami", tag = "auth", operation_id = "whoami", security(("bearer" = [])),
    responses(
        (status = 200, description = "Whom the server takes the caller for", body = WhoamiView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn whoami(State(app): State<App>, asking: Asking) -> Result<Json<WhoamiView>, ApiError> {
    let tenants = app.tenants.list(&asking.caller).await?;
    Ok(Json(WhoamiView {
        principal: asking.caller.principal.to_string(),
        kind: asking.caller.kind.as_str().to_owned(),
        operator: asking.caller.is_operator,
        tenants: tenants.into_iter().map(membership).collect(),
    }))
}

/// The public keys that check access tokens (JWKS)
#[utoipa::path(
    get, path = "/.well-known/jwks.json", tag = "auth", operation_id = "showKeys",
    responses((status = 200, description = "A JWK set", body = serde_json::Value))
)]
pub(crate) async fn jwks(State(app): State<App>) -> Json<serde_json::Value> {
    Json(app.signing.published())
}

pub(crate) fn view(tokens: &Tokens) -> TokensView {
    TokensView {
        principal: tokens.principal.to_string(),
        access_token: tokens.access.expose_secret().to_owned(),
        access_expires_at: tokens.access_expires_at,
        refresh_token: tokens.refresh.expose_secret().to_owned(),
    }
}
