//! Signing in through an identity provider.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::auth::{BeginOidc, ExchangeHandoff, OidcAnswer, TokensView};
use guildhall_service::ServiceError;
use guildhall_service::access::oidc::{self, Answer, CliWait, Finished, Oidc, Purposes, is_challenge};
use secrecy::SecretString;

use super::auth::view;
use super::browser_session::cookie_of;
use crate::App;
use crate::edge::cookies;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, parse};
use crate::edge::refusals::{Refused, note};

/// Begin a sign-in through the identity provider
///
/// For browsers: sends them to the provider. The sign-in is completed in the same browser, within ten minutes, once.
#[utoipa::path(
    get, path = "/api/v1/auth/oidc/start", tag = "auth", operation_id = "beginOidc", params(BeginOidc),
    responses(
        (status = 303, description = "To the provider"),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No identity provider is configured, or the invitation is not valid", body = Problem, content_type = CONTENT_TYPE),
        (status = 503, description = "The provider cannot be used now", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn start(
    State(app): State<App>,
    query: Result<Query<BeginOidc>, QueryRejection>,
) -> Result<(StatusCode, HeaderMap), ApiError> {
    let purposes = purposes(read(query)?)?;
    let begun = configured(&app)?.begin(&purposes).await?;
    let cookie = cookies::set(cookies::SIGN_IN, &begun.cookie, oidc::LIFETIME);
    Ok(redirect(begun.authorize.as_str(), cookie))
}

/// Complete a sign-in through the identity provider
///
/// The provider sends the browser here. What it brings is checked against the cookie of the browser that began.
#[utoipa::path(
    get, path = "/api/v1/auth/oidc/callback", tag = "auth", operation_id = "finishOidc", params(OidcAnswer),
    responses(
        (status = 303, description = "Signed in; to where the sign-in was to end"),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Refused; nothing was changed", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No identity provider is configured", body = Problem, content_type = CONTENT_TYPE),
        (status = 503, description = "The provider cannot be used now", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn callback(
    State(app): State<App>,
    headers: HeaderMap,
    query: Result<Query<OidcAnswer>, QueryRejection>,
) -> Result<(StatusCode, HeaderMap), ApiError> {
    let OidcAnswer { state, code, iss, error } = read(query)?;
    let answer = Answer { state: state.map(Into::into), code: code.map(Into::into), issuer: iss, error };
    let finished = configured(&app)?.finish(cookies::find(&headers, cookies::SIGN_IN), answer).await;
    let done = cookies::clear(cookies::SIGN_IN);
    match finished {
        Ok(Finished::Browser { session, return_to }) => {
            // The whole address: no reading of the path leads elsewhere.
            let address = format!("{}{return_to}", app.access.public_origin.as_deref().unwrap_or_default());
            Ok(redirect(&address, done.into_iter().chain(cookie_of(&session))))
        }
        Ok(Finished::Cli { address }) => Ok(redirect(address.as_str(), done)),
        Err(error) => Err(refused(&app, error, oidc::CALLBACK_PATH).await),
    }
}

/// Exchange a hand-off code for tokens
///
/// For a command that let a browser sign in. The code is used up by this request, whatever its answer.
#[utoipa::path(
    post, path = "/api/v1/auth/handoff", tag = "auth", operation_id = "exchangeHandoff",
    request_body = ExchangeHandoff,
    responses(
        (status = 200, description = "Signed in", body = TokensView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Not valid, used before, or without its proof", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No identity provider is configured", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn exchange(
    State(app): State<App>,
    Body(body): Body<ExchangeHandoff>,
) -> Result<Json<TokensView>, ApiError> {
    let (code, verifier) = (SecretString::from(body.code), SecretString::from(body.verifier));
    match configured(&app)?.exchange(&code, &verifier).await {
        Ok(tokens) => Ok(Json(view(&tokens))),
        Err(error) => Err(refused(&app, error, "/api/v1/auth/handoff").await),
    }
}

fn configured(app: &App) -> Result<&Oidc, ApiError> {
    let words = "this server has no identity provider: sign in with a name and a password";
    app.oidc.as_ref().ok_or_else(|| ApiError::new(FailureKind::NotFound, words))
}

fn read<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    // Without the library's words: they would repeat what was sent.
    let words = "the parameters are not those that this address takes, or one of them came twice";
    query.map(|Query(query)| query).map_err(|_| ApiError::new(FailureKind::SchemaInvalid, words))
}

fn purposes(query: BeginOidc) -> Result<Purposes, ApiError> {
    let return_to = query.return_to.map(|path| parse("returnTo", &path)).transpose()?.unwrap_or_default();
    let cli = query.cli.map(|cli| waiting(&cli)).transpose()?;
    Ok(Purposes { return_to, invitation: query.invitation.map(SecretString::from), cli })
}

fn waiting(text: &str) -> Result<CliWait, ApiError> {
    let read = |(port, challenge): (&str, &str)| {
        // One spelling of a number: digits that do not begin with zero.
        let port = port.parse().ok().filter(|number: &u16| *number > 0 && number.to_string() == port)?;
        is_challenge(challenge).then(|| CliWait { port, challenge: challenge.to_owned() })
    };
    let words = "cli: a port, a dot, and the 43 characters of a PKCE challenge by the method S256";
    text.split_once('.').and_then(read).ok_or_else(|| ApiError::new(FailureKind::SchemaInvalid, words))
}

/// Sends a browser on. Where it came from is not told there: the address holds what belongs to this sign-in.
fn redirect(address: &str, cookies: impl IntoIterator<Item = HeaderValue>) -> (StatusCode, HeaderMap) {
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

/// Writes a refused sign-in into the audit log, with its reason. The caller is told less.
async fn refused(app: &App, error: ServiceError, path: &str) -> ApiError {
    if let ServiceError::SignInRefused(refusal) = &error {
        let reason = refusal.to_string();
        note(app, Refused { action: "login.refused", actor: None, from: &reason, path }).await;
    }
    error.into()
}
