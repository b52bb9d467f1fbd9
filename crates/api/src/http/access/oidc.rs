//! Sign-in through an OpenID Connect provider.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::oidc::CliCallback;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::auth::{
    ExchangeHandoff, OidcCallbackQuery, StartOidcQuery, TokensView,
};
use guildhall_service::ServiceError;
use guildhall_service::access::error::AccessError;
use guildhall_service::access::oidc::{
    self, CallbackParams, CompletedSignIn, Oidc, SignInRequest, is_challenge,
};
use secrecy::SecretString;

use super::auth::view;
use super::browser_session::cookie_of;
use crate::App;
use crate::edge::cookies;
use crate::edge::denials::DeniedRequest;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, parse};
use crate::edge::rates::AnonymousCaller;

/// Start a sign-in through the identity provider
///
/// Redirects the browser to the provider. The sign-in must be completed once, in the same browser, within ten minutes.
#[utoipa::path(
    get, path = "/api/v1/auth/oidc/start", tag = "auth", operation_id = "startOidc", params(StartOidcQuery),
    responses(
        (status = 303, description = "Redirect to the provider", headers(
            ("Location" = String, description = "The authorization page of the provider"),
            ("Set-Cookie" = String, description = "The cookie of this sign-in"),
            ("Cache-Control" = String, description = "Always `no-store`"),
            ("Referrer-Policy" = String, description = "Always `no-referrer`"),
        )),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No identity provider is configured, or the invitation is invalid", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many attempts or open sign-ins from this address", body = Problem, content_type = CONTENT_TYPE),
        (status = 503, description = "The identity provider is unavailable", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn start(
    State(app): State<App>,
    caller: AnonymousCaller,
    query: Result<Query<StartOidcQuery>, QueryRejection>,
) -> Result<(StatusCode, HeaderMap), ApiError> {
    // First: a client can ask without starting a sign-in whether there is a provider.
    let oidc = configured_oidc(&app)?;
    let request = parse_sign_in_request(parse_query(query)?)?;
    let started = oidc.start(&request, caller.address).await?;
    let cookie = cookies::set(cookies::SIGN_IN, &started.cookie, oidc::LIFETIME);
    Ok(redirect(started.authorization_url.as_str(), cookie))
}

/// Complete a sign-in through the identity provider
///
/// The provider redirects the browser here. The parameters must match the cookie that the start of the sign-in set. A
/// sign-in for a CLI continues on a page on which the user confirms it.
#[utoipa::path(
    get, path = "/api/v1/auth/oidc/callback", tag = "auth", operation_id = "completeOidc", params(OidcCallbackQuery),
    responses(
        (status = 303, description = "Signed in; redirect to the return address, or for a CLI to the confirmation page", headers(
            ("Location" = String, description = "The return address, or the confirmation page"),
            ("Set-Cookie" = String, description = "Clears the cookie of the sign-in, and sets the one of the session or of the confirmation"),
            ("Cache-Control" = String, description = "Always `no-store`"),
            ("Referrer-Policy" = String, description = "Always `no-referrer`"),
        )),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Sign-in denied; nothing changed", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No identity provider is configured", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many attempts from this address", body = Problem, content_type = CONTENT_TYPE),
        (status = 503, description = "The identity provider is unavailable", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn callback(
    State(app): State<App>,
    _: AnonymousCaller,
    headers: HeaderMap,
    query: Result<Query<OidcCallbackQuery>, QueryRejection>,
) -> Result<(StatusCode, HeaderMap), ApiError> {
    let OidcCallbackQuery { state, code, iss, error } = parse_query(query)?;
    let params =
        CallbackParams { state: state.map(Into::into), code: code.map(Into::into), issuer: iss, error };
    let finished = configured_oidc(&app)?.complete(cookies::find(&headers, cookies::SIGN_IN), params).await;
    let cleared = cookies::clear(cookies::SIGN_IN);
    match finished {
        Ok(CompletedSignIn::Browser { session, return_to }) => {
            // An absolute URL, so that the path cannot redirect to another host.
            let address = format!("{}{return_to}", public_origin(&app));
            Ok(redirect(&address, cleared.into_iter().chain(cookie_of(&session))))
        }
        Ok(CompletedSignIn::Cli { confirmation }) => {
            let page = format!("{}{}", public_origin(&app), oidc::CONFIRMATION_PATH);
            let cookie = cookies::set(cookies::CONFIRMATION, &confirmation, oidc::CONFIRMATION_LIFETIME);
            Ok(redirect(&page, cleared.into_iter().chain(cookie)))
        }
        Err(error) => Err(record_denied_sign_in(&app, error, oidc::CALLBACK_PATH).await),
    }
}

/// Exchange a hand-off code for tokens
///
/// For a CLI that signs in through a browser. The code is consumed by this request, whatever the response.
#[utoipa::path(
    post, path = "/api/v1/auth/handoff", tag = "auth", operation_id = "exchangeHandoff",
    request_body = ExchangeHandoff,
    responses(
        (status = 200, description = "Signed in", body = TokensView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Invalid, already used, or the PKCE verifier does not match", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No identity provider is configured", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Too many attempts from this address", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn exchange(
    State(app): State<App>,
    _: AnonymousCaller,
    Body(body): Body<ExchangeHandoff>,
) -> Result<Json<TokensView>, ApiError> {
    let (code, verifier) = (SecretString::from(body.code), SecretString::from(body.verifier));
    match configured_oidc(&app)?.exchange(&code, &verifier).await {
        Ok(tokens) => Ok(Json(view(&tokens))),
        Err(error) => Err(record_denied_sign_in(&app, error, "/api/v1/auth/handoff").await),
    }
}

fn public_origin(app: &App) -> &str {
    app.access_rules.public_origin.as_deref().unwrap_or_default()
}

pub(super) fn configured_oidc(app: &App) -> Result<&Oidc, ApiError> {
    let message = "no identity provider is configured: sign in with a name and a password";
    app.access.oidc.as_ref().ok_or_else(|| ApiError::new(FailureKind::NotFound, message))
}

fn parse_query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    // Not the error of the library: it repeats the input.
    let message = "invalid query: unknown, missing or repeated parameter";
    query.map(|Query(query)| query).map_err(|_| ApiError::new(FailureKind::SchemaInvalid, message))
}

fn parse_sign_in_request(query: StartOidcQuery) -> Result<SignInRequest, ApiError> {
    let return_to = query.return_to.map(|path| parse("returnTo", &path)).transpose()?.unwrap_or_default();
    let cli = query.cli.map(|cli| parse_cli_callback(&cli)).transpose()?;
    Ok(SignInRequest { return_to, invitation: query.invitation.map(SecretString::from), cli })
}

fn parse_cli_callback(text: &str) -> Result<CliCallback, ApiError> {
    let parse = |(port, challenge): (&str, &str)| {
        // Canonical form only: no sign, no leading zero.
        let port = port.parse().ok().filter(|number: &u16| *number > 0 && number.to_string() == port)?;
        is_challenge(challenge).then(|| CliCallback { port, challenge: challenge.to_owned() })
    };
    let message = "cli: use <port>.<challenge>, with a PKCE challenge (S256) of 43 characters";
    text.split_once('.').and_then(parse).ok_or_else(|| ApiError::new(FailureKind::SchemaInvalid, message))
}

/// Returns a redirect without a referrer: the current address contains secrets of the sign-in.
pub(super) fn redirect(
    address: &str,
    cookies: impl IntoIterator<Item = HeaderValue>,
) -> (StatusCode, HeaderMap) {
    let mut headers = HeaderMap::from_iter([
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ]);
    headers.extend(HeaderValue::try_from(address).map(|address| (LOCATION, address)));
    for cookie in cookies {
        headers.append(SET_COOKIE, cookie);
    }
    (StatusCode::SEE_OTHER, headers)
}

/// Records a denied sign-in and its reason in the audit log. The response says less.
pub(super) async fn record_denied_sign_in(app: &App, error: ServiceError, path: &str) -> ApiError {
    if let ServiceError::Access(AccessError::Oidc(refusal)) = &error {
        let reason = refusal.to_string();
        let denied = DeniedRequest { action: "login.refused", actor: None, from: &reason, path };
        app.denials.record(&app.access.audit, denied).await;
    }
    error.into()
}
